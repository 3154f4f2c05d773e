import { BerthError, type ErrorCode } from '../system/errors/berth-error.ts';
import { describeObject, type Kind, type KubeObject } from './objects/kube-object.ts';
import type { ApiResponse } from './api-client.ts';

const codes: Readonly<Record<number, ErrorCode>> = {
  401: 'api-unauthorized',
  403: 'api-forbidden',
  409: 'api-conflict',
  422: 'api-invalid',
  429: 'api-overloaded',
};

/** The answer to `attempted` as an error, with the server's message. */
export function apiError(attempted: string, { status, body }: ApiResponse): BerthError {
  const message = typeof body.message === 'string' ? body.message : 'no message';
  const code =
    status === 403 && message.includes('exceeded quota')
      ? 'api-quota-exceeded'
      : (codes[status] ?? (status >= 500 ? 'api-server-error' : 'api-unexpected'));
  return new BerthError(code, `${attempted}: the API server answered ${status}: ${message}`, {
    fields: { status },
  });
}

/** The keys of berth.yml and hook.env that an object comes from. */
const settingsOf: Readonly<Record<Kind, string>> = {
  ClusterRole: 'pull_secret in berth.yml, or IMAGE_PULL_SECRET in hook.env',
  ClusterRoleBinding: 'pull_secret in berth.yml, or IMAGE_PULL_SECRET in hook.env',
  Namespace:
    'v2.job.namespace_prefix in clusters.d or NAMESPACE_PREFIX in hook.env, and the account name',
  NetworkPolicy:
    'allow_cidrs and network_egress in berth.yml, or NETWORK_POLICY_ALLOW_CIDR in hook.env',
  PersistentVolumeClaim: 'volume_claims in berth.yml',
  Pod: 'the profile of the session',
  RoleBinding:
    'subject_prefix, credentials, jupyterhub and user_roles in berth.yml, and the account name',
  Secret: 'pull_secret in berth.yml, or IMAGE_PULL_SECRET in hook.env; ssh_sessions.secret',
  ServiceAccount:
    'credentials.service_account and pull_secret in berth.yml, or IMAGE_PULL_SECRET in hook.env',
  ResourceQuota: 'resource_quota in berth.yml',
  LimitRange: 'limit_range in berth.yml',
};

/**
 * The answer to applying `object` as an error. A RoleBinding's role and a Secret's type cannot be
 * changed, and the hook deletes nothing: the hint says what to delete.
 */
export function applyError(object: KubeObject, answer: ApiResponse): BerthError {
  const error = apiError(`applying ${describeObject(object)}`, answer);
  if (answer.status !== 422) return error;
  if (!/immutable|cannot change roleRef/.test(error.message))
    return new BerthError(error.code, error.message, {
      hint: `Compare the message with the settings of this object: ${settingsOf[object.kind]}.`,
      fields: error.fields,
    });
  const { name, namespace } = object.metadata;
  const again = namespace === undefined ? 'the same command' : 'the next login';
  const inIt = namespace === undefined ? '' : `-n ${namespace} `;
  return new BerthError('api-immutable', error.message, {
    hint: `Another tool created this object. Delete it; ${again} creates it again: kubectl ${inIt}delete ${object.kind.toLowerCase()} ${name}`,
    fields: error.fields,
  });
}
