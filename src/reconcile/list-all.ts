import type { V1ListMeta } from '@kubernetes/client-node';
import { BerthError } from '../errors.ts';
import type { KubeJson } from '../desired/kube-json.ts';
import type { LiveObject } from '../desired/kube-object.ts';
import type { ApiClient } from './api-client.ts';
import { apiError } from './api-errors.ts';

export interface ListOptions {
  /** `listing the pods`, for messages. */
  readonly attempted: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Only `metadata` of each: what a pod is made of is ten times as much. */
  readonly metadataOnly?: boolean;
}

/** Objects a page, to begin with. */
const pageSize = 200;

/** How often a list is begun anew because its pages grew too old for etcd. */
const attempts = 3;

/** More than a cluster has; a list that never ends must end. Objects. */
const mostObjects = 200_000;

const metadataOnly =
  'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json';

/**
 * All objects of a collection, page by page, as they were at one moment.
 *
 * @param path The collection's, without a query.
 * @throws The `api-…` errors, `api-list-too-long`; there is no half list
 */
export function listAll(
  client: ApiClient,
  path: string,
  options: ListOptions,
): Promise<LiveObject[]> {
  return listInto(client, path, {
    ...options,
    begin: (): LiveObject[] => [],
    add: (all, object) => {
      if (all.length === mostObjects) throw tooLong(options.attempted, mostObjects);
      all.push(object);
    },
  });
}

/**
 * The same where users write the objects: each is given to `add`, with what `begin` made, and what it does not
 * keep is gone with the page.
 *
 * @param options.enough Asked after each page: whether the rest of the list is not wanted.
 * @returns What `begin` made, anew where the list was begun anew.
 * @throws The `api-…` errors, and what `add` throws
 */
export async function listInto<T>(
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

/** @returns `expired` where the pages grew too old on the way (410) and it is not the last attempt. */
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
      ...(labelSelector === undefined ? {} : { labelSelector }),
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
      ...(token === undefined ? {} : { continue: token }),
    });
    let answer;
    try {
      answer = await client.send({
        method: 'GET',
        path: `${path}?${query.toString()}`,
        ...(options.metadataOnly === true ? { accept: metadataOnly } : {}),
      });
    } catch (thrown) {
      // Users can make objects of a megabyte and more each: one of them always fits.
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
    // Large ones may be few.
    limit = Math.min(pageSize, limit * 2);
    yield page.items ?? [];
    token = page.metadata?.continue ?? '';
  } while (token !== '');
  return 'complete';
}

function tooLong(attempted: string, most: number): BerthError {
  return new BerthError(`${attempted}: more than ${most} objects`, {
    code: 'api-list-too-long',
    exit: 'unavailable',
    hint: 'Check that the address is the API server’s, and which namespace has so many objects; a ResourceQuota limits them.',
  });
}
