import type { V1SelfSubjectAccessReview, V1SelfSubjectReview } from '@kubernetes/client-node';
import type { ApiClient } from './api-client.ts';
import { apiError } from './api-errors.ts';
import type { Right } from './needed-rights.ts';

/**
 * Who the API server takes us for. SelfSubjectReview, Kubernetes 1.28; every authenticated user may
 * ask. Throws the `api-…` errors.
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
  if (answer.status !== 201) throw apiError('asking the API server who we are', answer);
  return (answer.body as V1SelfSubjectReview).status?.userInfo?.username ?? '';
}

/** Whether we may do this. SelfSubjectAccessReview. Throws the `api-…` errors. */
export async function mayI(client: ApiClient, right: Right): Promise<boolean> {
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
  if (answer.status !== 201) throw apiError('asking the API server what we may do', answer);
  return (answer.body as Partial<V1SelfSubjectAccessReview>).status?.allowed === true;
}

/** A ServiceAccount's name as the API server spells its user, or nothing for another kind of user. */
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
