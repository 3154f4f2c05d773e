import type { V1ListMeta } from '@kubernetes/client-node';
import { BerthError } from '../system/errors/berth-error.ts';
import type { ApiClient } from './api-client.ts';
import { apiError } from './api-errors.ts';
import { collectionPath, type KubeJson, type LiveObject } from './objects/kube-object.ts';

export interface ListOptions {
  /** `listing the pods`, for messages. */
  readonly attempted: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Only `metadata` of each object: a whole pod is ten times as large. */
  readonly metadataOnly?: boolean;
}

/** Initial number of objects in a page. */
const pageSize = 200;

/** Attempts at a list whose pages have expired in etcd. */
const attempts = 3;

/** Limit of objects, against a list without end. */
const mostObjects = 200_000;

const metadataOnly =
  'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json';

/**
 * All objects of a collection, read page by page at one version.
 *
 * @param path The collection's, without a query.
 * @throws The `api-…` errors, `api-list-too-long`; there is no partial list
 */
export function listAll(
  client: ApiClient,
  path: string,
  options: ListOptions,
): Promise<LiveObject[]> {
  return reduceListPages(client, path, {
    ...options,
    begin: (): LiveObject[] => [],
    add: (all, object) => {
      if (all.length === mostObjects) throw tooLong(options.attempted, mostObjects);
      all.push(object);
    },
  });
}

/**
 * The same for objects that users write: each is passed to `add` with the value that `begin` made, so that not
 * all have to be kept in memory.
 *
 * @param options.enough Called after each page: true if the rest is not needed.
 * @returns The value that `begin` made for the last attempt.
 * @throws The `api-…` errors, and what `add` throws
 */
export async function reduceListPages<T>(
  client: ApiClient,
  path: string,
  options: ListOptions & {
    readonly begin: () => T;
    readonly add: (into: T, object: LiveObject) => void;
    readonly enough?: (into: T) => boolean;
  },
): Promise<T> {
  const { begin, add, enough = () => false } = options;
  for (let attempt = 1; ; attempt += 1) {
    const into = begin();
    const pages = pagesOf(client, path, options, attempt === attempts);
    let page = await pages.next();
    for (; page.done !== true; page = await pages.next()) {
      for (const object of page.value) add(into, object);
      if (enough(into)) return into;
    }
    if (page.value === 'complete') return into;
  }
}

/** @returns `expired` if the pages have expired (410) and it is not the last attempt. */
async function* pagesOf(
  client: ApiClient,
  path: string,
  { attempted, labelSelector, fieldSelector, ...options }: ListOptions,
  last: boolean,
): AsyncGenerator<readonly LiveObject[], 'complete' | 'expired'> {
  let token: string | undefined;
  let limit = pageSize;
  do {
    const query = new URLSearchParams({
      limit: String(limit),
      ...(labelSelector !== undefined && { labelSelector }),
      ...(fieldSelector !== undefined && { fieldSelector }),
      ...(token !== undefined && { continue: token }),
    });
    let answer;
    try {
      answer = await client.send({
        method: 'GET',
        path: `${path}?${query.toString()}`,
        ...(options.metadataOnly === true && { accept: metadataOnly }),
      });
    } catch (thrown) {
      // A single object always fits.
      const tooLarge = thrown instanceof BerthError && thrown.code === 'api-answer-too-large';
      if (!tooLarge || limit === 1) throw thrown;
      limit = Math.max(1, Math.floor(limit / 4));
      continue;
    }
    if (answer.status === 410 && !last) return 'expired';
    if (answer.status !== 200) throw apiError(attempted, answer);
    const page = answer.body as {
      readonly items?: readonly LiveObject[];
      readonly metadata?: KubeJson<V1ListMeta>;
    };
    // Large objects may be rare.
    limit = Math.min(pageSize, limit * 2);
    yield page.items ?? [];
    token = page.metadata?.continue ?? '';
  } while (token !== '');
  return 'complete';
}

function tooLong(attempted: string, most: number): BerthError {
  return new BerthError('api-list-too-long', `${attempted}: more than ${most} objects`);
}

/**
 * The metadata of every namespace that matches the selector. Of 20,000 namespaces, `managedFields`, which nobody here reads,
 * would be most of what is kept.
 *
 * @throws the `api-…` errors
 */
export function listUserNamespaces(
  client: ApiClient,
  labelSelector: string,
): Promise<LiveObject[]> {
  const attempted = 'listing the namespaces of users';
  return reduceListPages(client, collectionPath('Namespace'), {
    attempted,
    labelSelector,
    metadataOnly: true,
    begin: (): LiveObject[] => [],
    add: (all, { metadata }) => {
      if (all.length === mostObjects) throw tooLong(attempted, mostObjects);
      all.push({ metadata: { ...metadata, managedFields: undefined } });
    },
  });
}
