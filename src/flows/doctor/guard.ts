import { clusterRoles } from '../../desired/names.ts';
import type { KubeObject } from '../../desired/kube-object.ts';
import type { ApiClient } from '../../reconcile/api-client.ts';
import { apiError } from '../../reconcile/api-errors.ts';
import { createRequest } from '../../reconcile/requests.ts';
import { failed, type Finding, ok, skipped, warning } from './check.ts';
import { guardedSince, minorVersion } from './kube-version.ts';

/** Whom etc/kubernetes/guard.yaml watches. */
const guarded = ['berth-hook', 'berth-login'].map(
  (name) => `system:serviceaccount:ondemand:${name}`,
);

/** What the hook would never do: bind a role in a namespace that is no user's. */
const forbidden: KubeObject = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'RoleBinding',
  metadata: { name: 'berth-doctor-ood-user', namespace: 'kube-system' },
  roleRef: {
    apiGroup: 'rbac.authorization.k8s.io',
    kind: 'ClusterRole',
    name: clusterRoles.user,
  },
  subjects: [{ kind: 'ServiceAccount', name: 'berth-doctor', namespace: 'kube-system' }],
};

/**
 * Whether the ValidatingAdmissionPolicy stands between the hook's token and other namespaces: a
 * server-side dry run of a forbidden write, which changes nothing, must be refused by it.
 */
export async function guardFinding(
  client: ApiClient,
  identity: string,
  version: string,
): Promise<Finding> {
  const minor = minorVersion(version);
  if (minor !== undefined && minor < guardedSince)
    return skipped(`Kubernetes ${version} has no ValidatingAdmissionPolicy`);
  const answer = await client.send(createRequest(forbidden, { dryRun: true }));
  const message = typeof answer.body.message === 'string' ? answer.body.message : '';
  if (answer.status === 422 && message.includes('ValidatingAdmissionPolicy'))
    return ok('a write outside the namespaces of users is refused');
  if (answer.status === 403) return ok('a write outside the namespaces of users is not allowed');
  if (answer.status !== 201) throw apiError('trying a forbidden write', answer);
  if (!guarded.includes(identity))
    return warning(
      `the guard watches ${guarded.join(' and ')}, and we are ${identity}`,
      'Use such an account (berth token setup), or change the matchCondition in etc/kubernetes/guard.yaml.',
    );
  return failed(
    "nothing keeps the hook's token from binding roles in kube-system",
    'kubectl apply -f etc/kubernetes/guard.yaml',
  );
}
