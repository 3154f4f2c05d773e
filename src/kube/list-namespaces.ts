import { collectionPath, type LiveObject } from './objects/kube-object.ts';
import type { ApiClient } from './api-client.ts';
import { listAll } from './list-all.ts';

/** Every namespace that matches the selector. @throws the `api-…` errors */
export function listUserNamespaces(
  client: ApiClient,
  labelSelector: string,
): Promise<LiveObject[]> {
  return listAll(client, collectionPath('Namespace'), {
    attempted: 'listing the namespaces of users',
    labelSelector,
  });
}
