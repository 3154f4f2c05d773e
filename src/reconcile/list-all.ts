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

/** Objects a page: an answer stays far below what the client takes. */
const pageSize = 200;

/** How often a list is begun anew because its pages grew too old for etcd. */
const attempts = 3;

const metadataOnly =
  'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json';

/**
 * All objects of a collection, page by page, as they were at one moment.
 *
 * @param path The collection's, without a query.
 * @throws The `api-…` errors; there is no half list
 */
export async function listAll(
  client: ApiClient,
  path: string,
  options: ListOptions,
): Promise<LiveObject[]> {
  for (let attempt = 1; ; attempt += 1) {
    const items = await listOnce(client, path, options, attempt === attempts);
    if (items !== undefined) return items;
  }
}

/** Nothing where the pages expired on the way (410) and it is not the last attempt. */
async function listOnce(
  client: ApiClient,
  path: string,
  { attempted, labelSelector, fieldSelector, ...options }: ListOptions,
  last: boolean,
): Promise<LiveObject[] | undefined> {
  const items: LiveObject[] = [];
  let token: string | undefined;
  do {
    const query = new URLSearchParams({
      limit: String(pageSize),
      ...(labelSelector === undefined ? {} : { labelSelector }),
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
      ...(token === undefined ? {} : { continue: token }),
    });
    const answer = await client.send({
      method: 'GET',
      path: `${path}?${query.toString()}`,
      ...(options.metadataOnly === true ? { accept: metadataOnly } : {}),
    });
    if (answer.status === 410 && !last) return undefined;
    if (answer.status !== 200) throw apiError(attempted, answer);
    const page = answer.body as {
      readonly items?: readonly LiveObject[];
      readonly metadata?: { readonly continue?: string };
    };
    items.push(...(page.items ?? []));
    token = page.metadata?.continue;
  } while (token !== undefined && token !== '');
  return items;
}
