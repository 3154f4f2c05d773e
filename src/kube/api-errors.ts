import { BerthError, type ErrorDetails } from '../errors/berth-error.ts';
import { describeObject, type Kind, type KubeObject } from './objects/kube-object.ts';
import type { ApiResponse } from './api-client.ts';
import { installedPath } from '../installed-path.ts';

type Meaning = Pick<ErrorDetails, 'code' | 'exit' | 'hint'>;

/** Error code, exit status and hint for each HTTP status. */
const meanings: Readonly<Record<number, Meaning>> = {
  401: {
    code: 'api-unauthorized',
    hint: "The hook's token has expired or was revoked: create a new one with `berth token setup`, and check that berth-token-rotate.timer is enabled.",
  },
  403: {
    code: 'api-forbidden',
    hint: `Apply the current ${installedPath('share/etc/kubernetes')} to this cluster; \`berth doctor\` lists the missing permissions.`,
  },
  409: {
    code: 'api-conflict',
    hint: 'Another client changed this object at the same time. The next login tries again.',
  },
  422: {
    code: 'api-invalid',
    hint: 'The API server rejected the object. `berth doctor` tries all objects of a user, and names the settings that they come from.',
  },
  429: {
    code: 'api-overloaded',
    hint: 'The API server is overloaded. Check its metrics for API Priority and Fairness. The next login tries again.',
  },
};

const serverFault: Meaning = {
  code: 'api-server-error',
  hint: "Check the API server's log for this time. The next login tries again.",
};

const unexpected: Meaning = {
  code: 'api-unexpected',
  hint: `If it is 404, check that the manifests are applied: \`kubectl apply -k ${installedPath('share/etc/kubernetes')}\`. Other values usually come from a proxy. Then run \`berth doctor\`.`,
};

/** The answer to `attempted` as an error, with the server's message. */
export function apiError(attempted: string, { status, body }: ApiResponse): BerthError {
  const message = typeof body.message === 'string' ? body.message : 'no message';
  const meaning =
    status === 403 && message.includes('exceeded quota')
      ? {
          code: 'api-quota-exceeded' as const,
          hint: 'The quota of the namespace is too small for the objects of the hook: raise it (`kubectl describe quota`).',
        }
      : (meanings[status] ?? (status >= 500 ? serverFault : unexpected));
  return new BerthError(`${attempted}: the API server answered ${status}: ${message}`, {
    ...meaning,
    fields: { status },
  });
}

/** The keys of berth.yml and hook.env that an object comes from. */
const settingsOf: Readonly<Record<Kind, string>> = {
  ClusterRole: 'pull_secret in berth.yml, or IMAGE_PULL_SECRET in hook.env',
  ClusterRoleBinding: 'pull_secret in berth.yml, or IMAGE_PULL_SECRET in hook.env',
  Namespace:
    'v2.job.namespace_prefix in clusters.d or NAMESPACE_PREFIX in hook.env, and the account name',
  NetworkPolicy: 'allow_cidrs in berth.yml, or NETWORK_POLICY_ALLOW_CIDR in hook.env',
  Pod: 'the profile of the session',
  RoleBinding: 'subject_prefix and credentials in berth.yml, and the account name',
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
    return new BerthError(error.message, {
      code: error.code,
      hint: `Compare the message with the settings of this object: ${settingsOf[object.kind]}.`,
      fields: error.fields,
    });
  const { name, namespace = '' } = object.metadata;
  return new BerthError(error.message, {
    code: 'api-immutable',
    hint: `Another tool created this object. Delete it; the next login creates it again: kubectl -n ${namespace} delete ${object.kind.toLowerCase()} ${name}`,
    fields: error.fields,
  });
}
