import { annotations, namespaceLabel } from './objects/well-known-names.ts';
import {
  collectionPath,
  objectPath,
  type KubeObject,
  type ObjectName,
} from './objects/kube-object.ts';
import type { ApiRequest } from './api-client.ts';

/**
 * Field manager of server-side apply. It must never change, because fields owned by the old manager would never be
 * removed.
 */
const fieldManager = 'berth';

/**
 * Creates or repairs one object with a forced apply: our fields are overwritten, all others are kept. A list of references that another writer
 * owns (409) is overwritten only at the version that was read: see `mergePullSecrets`.
 *
 * @param options.manager Field manager, if several of ours own fields of one object.
 */
export function applyRequest(
  object: KubeObject,
  { dryRun = false, manager = fieldManager } = {},
): ApiRequest {
  const force = !hasReferences(object) || object.metadata.resourceVersion !== undefined;
  const query = `fieldManager=${manager}${force ? '&force=true' : ''}${dryRun ? '&dryRun=All' : ''}`;
  return {
    method: 'PATCH',
    path: `${objectPath(object)}?${query}`,
    contentType: 'application/apply-patch+yaml',
    body: JSON.stringify(object),
  };
}

/** Whether it has a list that others write too, and that an apply replaces as a whole. */
export function hasReferences(object: KubeObject): boolean {
  return object.kind === 'ServiceAccount' && object.imagePullSecrets !== undefined;
}

/** How a login writes the object: a PersistentVolumeClaim is created only, all others are applied. */
export function writeRequest(object: KubeObject, { dryRun = false } = {}): ApiRequest {
  return object.kind === 'PersistentVolumeClaim'
    ? createRequest(object, { dryRun })
    : applyRequest(object, { dryRun });
}

/** Creates the object; an existing one is never changed (409). */
export function createRequest(object: KubeObject, { dryRun = false } = {}): ApiRequest {
  return {
    method: 'POST',
    path: `${collectionPath(object.kind, object.metadata.namespace)}?fieldManager=${fieldManager}${dryRun ? '&dryRun=All' : ''}`,
    contentType: 'application/json',
    body: JSON.stringify(object),
  };
}

/**
 * Updates the namespace's label and annotations if it is this user's: the `test` of RFC 6902 and the changes are
 * one atomic step in the API server. 422 means that there is another owner or none, 404 that the
 * namespace does not exist.
 */
export function stampRequest(namespace: KubeObject): ApiRequest {
  const wanted = namespace.metadata.annotations ?? {};
  const at = (map: 'labels' | 'annotations', key: string): string =>
    `/metadata/${map}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
  return {
    method: 'PATCH',
    path: `${objectPath(namespace)}?fieldManager=${fieldManager}`,
    contentType: 'application/json-patch+json',
    body: JSON.stringify([
      { op: 'test', path: at('annotations', annotations.owner), value: wanted[annotations.owner] },
      ...Object.entries(wanted).map(([key, value]) => ({
        op: 'add',
        path: at('annotations', key),
        value,
      })),
      { op: 'add', path: at('labels', namespaceLabel.key), value: namespaceLabel.value },
    ]),
  };
}

export function getRequest(object: ObjectName): ApiRequest {
  return { method: 'GET', path: objectPath(object) };
}

/** Lists all RoleBindings of a namespace in one request. */
export function listRoleBindingsRequest(namespace: string): ApiRequest {
  return { method: 'GET', path: collectionPath('RoleBinding', namespace) };
}
