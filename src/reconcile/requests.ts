import { annotations, namespaceLabel } from '../desired/names.ts';
import {
  collectionPath,
  objectPath,
  type KubeObject,
  type ObjectName,
} from '../desired/kube-object.ts';
import type { ApiRequest } from './api-client.ts';

/**
 * Owner of our fields in server-side apply. Fixed: another name would leave the old one's fields
 * behind for ever.
 */
const fieldManager = 'berth';

/**
 * Creates or repairs one object: our fields win, all others stay as they are. A list of references
 * that somebody else wrote (409) is overwritten only by who has seen it: see `keepReferences`.
 *
 * @param options.manager Where several of us own fields of one object, each its own.
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

/** A list that others write too, and that an apply replaces whole. */
export function hasReferences(object: KubeObject): boolean {
  return object.kind === 'ServiceAccount' && object.imagePullSecrets !== undefined;
}

/** Creates the namespace, and only that: one that exists already is never touched (409). */
export function createRequest(object: KubeObject, { dryRun = false } = {}): ApiRequest {
  return {
    method: 'POST',
    path: `${collectionPath(object.kind, object.metadata.namespace)}?fieldManager=${fieldManager}${dryRun ? '&dryRun=All' : ''}`,
    contentType: 'application/json',
    body: JSON.stringify(object),
  };
}

/**
 * Renews what a login renews on the namespace, on the condition that it is this user's: RFC 6902
 * `test` and the changes are one atomic step in the API server. 422 means the owner is another one
 * or none, 404 that there is no namespace.
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

/** All RoleBindings of a namespace in one request, in place of one for each. */
export function listRoleBindingsRequest(namespace: string): ApiRequest {
  return { method: 'GET', path: collectionPath('RoleBinding', namespace) };
}
