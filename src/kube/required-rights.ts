import type { V1ResourceAttributes } from '@kubernetes/client-node';
import type { KubeJson } from './objects/kube-json.ts';
import type { KubeObject } from './objects/kube-object.ts';
import type { UserObjects } from './objects/user-objects.ts';
import type { ApiRequest } from './api-client.ts';
import {
  applyRequest,
  createRequest,
  getRequest,
  listRoleBindingsRequest,
  stampRequest,
} from './requests.ts';

/** One permission of RBAC: the `resourceAttributes` of a SelfSubjectAccessReview. */
export type Right = KubeJson<V1ResourceAttributes> &
  Required<Readonly<Pick<V1ResourceAttributes, 'verb' | 'group' | 'resource'>>>;

/**
 * The permissions that the hook needs for these objects, derived from the requests that it sends, so
 * that both always agree.
 */
export function requiredRights({ namespace, members }: UserObjects): Right[] {
  const requests = [
    createRequest(namespace),
    stampRequest(namespace),
    getRequest(namespace),
    applyRequest(namespace),
    listRoleBindingsRequest(namespace.metadata.name),
    ...members.filter(({ kind }) => kind !== 'RoleBinding').map(getRequest),
    ...members.map((member) => applyRequest(member)),
  ];
  const rights = [...requests.flatMap(rightsForRequest), ...members.flatMap(rightToBind)];
  return [...new Map(rights.map((right) => [JSON.stringify(right), right])).values()];
}

/** A token of a ServiceAccount, by TokenRequest. */
export function tokenRight(namespace: string, name: string): Right {
  return {
    verb: 'create',
    group: '',
    resource: 'serviceaccounts',
    subresource: 'token',
    name,
    namespace,
  };
}

/**
 * The permissions for one request, as the API server derives them (k8s.io/apiserver,
 * pkg/endpoints/request/requestinfo.go). An apply may create the object and needs that permission too.
 */
export function rightsForRequest({ method, path, contentType }: ApiRequest): Right[] {
  const place =
    /^\/(?:api|apis\/(?<group>[^/]+))\/[^/]+(?:\/namespaces\/(?<namespace>[^/]+)(?=\/))?\/(?<resource>[^/?]+)(?:\/(?<name>[^/?]+))?(?:\/(?<subresource>[^/?]+))?(?:\?|$)/.exec(
      path,
    )?.groups;
  if (place?.resource === undefined) throw new Error(`${path} is not the path of an object`);
  const { group = '', resource, subresource } = place;
  const name = decoded(place.name);
  const namespace = decoded(place.namespace);
  const verbs =
    method === 'POST'
      ? ['create']
      : method === 'GET'
        ? [name === undefined ? 'list' : 'get']
        : contentType === 'application/apply-patch+yaml'
          ? ['patch', 'create']
          : ['patch'];
  return verbs.map((verb) => ({
    verb,
    group,
    resource,
    subresource,
    name,
    // A Namespace counts as within itself (requestinfo.go), but its rights are cluster-wide in RBAC.
    namespace,
  }));
}

/** The right as arguments of `kubectl auth can-i`. */
export function rightText({ verb, group, resource, subresource, name, namespace }: Right): string {
  const kind = [resource, group].filter((part) => part !== '').join('.');
  return [
    verb,
    subresource === undefined ? kind : `${kind}/${subresource}`,
    ...(name === undefined ? [] : [name]),
    ...(namespace === undefined ? [] : [`in ${namespace}`]),
  ].join(' ');
}

/** To bind a role one needs all of its rights, or the right to bind it. */
function rightToBind(member: KubeObject): Right[] {
  if (member.kind !== 'RoleBinding') return [];
  const { name } = member.roleRef;
  const { namespace } = member.metadata;
  return [
    {
      verb: 'bind',
      group: 'rbac.authorization.k8s.io',
      resource: 'clusterroles',
      name,
      namespace,
    },
  ];
}

function decoded(part: string | undefined): string | undefined {
  return part === undefined ? undefined : decodeURIComponent(part);
}
