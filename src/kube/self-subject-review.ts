import type { V1SelfSubjectAccessReview, V1SelfSubjectReview } from '@kubernetes/client-node';
import type { ApiClient } from './api-client.ts';
import { apiError } from './api-errors.ts';
import type { Right } from './required-rights.ts';

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

/** The ServiceAccount of a user name; undefined for another kind of user. */
export function serviceAccountOf(
  username: unknown,
): { readonly namespace: string; readonly name: string } | undefined {
  const parts =
    typeof username === 'string'
      ? /^system:serviceaccount:(?<namespace>[a-z0-9.-]+):(?<name>[a-z0-9.-]+)$/.exec(username)
      : undefined;
  const { namespace, name } = parts?.groups ?? {};
  return namespace === undefined || name === undefined ? undefined : { namespace, name };
}
