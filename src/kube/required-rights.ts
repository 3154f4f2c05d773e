import type {
  V1ResourceAttributes,
  V1SelfSubjectAccessReview,
  V1SelfSubjectReview,
} from '@kubernetes/client-node';
import type { ApiClient, ApiRequest } from './api-client.ts';
import { apiError } from './api-errors.ts';
import type { KubeJson, KubeObject } from './objects/kube-object.ts';
import type { UserObjects } from './objects/user-objects.ts';
import {
  applyRequest,
  createRequest,
  getRequest,
  listRoleBindingsRequest,
  stampRequest,
  writeRequest,
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
    ...members.map((member) => writeRequest(member)),
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

/** The right as text for messages, such as `create secrets in u-alice`. */
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

/**
 * Our user name as the API server sees it. SelfSubjectReview, Kubernetes 1.28; allowed to every
 * authenticated user. Throws the `api-…` errors.
 */
export async function whoAmI(client: ApiClient): Promise<string> {
  const answer = await client.send({
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    contentType: 'application/json',
    body: JSON.stringify({
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'SelfSubjectReview',
    }),
  });
  if (answer.status !== 201) throw apiError('reading our user name from the API server', answer);
  return (answer.body as V1SelfSubjectReview).status?.userInfo?.username ?? '';
}

/** Whether we have this right. SelfSubjectAccessReview. Throws the `api-…` errors. */
export async function canI(client: ApiClient, right: Right): Promise<boolean> {
  const answer = await client.send({
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    contentType: 'application/json',
    body: JSON.stringify({
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes: right },
    }),
  });
  if (answer.status !== 201) throw apiError('reading our rights from the API server', answer);
  return (answer.body as Partial<V1SelfSubjectAccessReview>).status?.allowed === true;
}

export interface ServiceAccountName {
  readonly namespace: string;
  readonly name: string;
}

/** The ServiceAccount of a user name; undefined for another kind of user. */
export function serviceAccountOf(username: unknown): ServiceAccountName | undefined {
  const parts =
    typeof username === 'string'
      ? /^system:serviceaccount:(?<namespace>[a-z0-9.-]+):(?<name>[a-z0-9.-]+)$/.exec(username)
      : undefined;
  const { namespace, name } = parts?.groups ?? {};
  return namespace === undefined || name === undefined ? undefined : { namespace, name };
}
