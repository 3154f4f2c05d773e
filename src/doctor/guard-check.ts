import { clusterRoles } from '../kube/objects/well-known-names.ts';
import type { KubeObject } from '../kube/objects/kube-object.ts';
import type { ApiClient } from '../kube/api-client.ts';
import { apiError } from '../kube/api-errors.ts';
import { createRequest } from '../kube/requests.ts';
import { failed, type Finding, ok } from '../check-result.ts';
import { validatingPolicySince, minorVersion } from '../admission/admission-settings.ts';
import { installedPath } from '../installed-path.ts';

/** The accounts that etc/kubernetes/guard/guard.yaml restricts. */
const guarded = ['berth-hook', 'berth-login'].map(
  (name) => `system:serviceaccount:ondemand:${name}`,
);

/** A write that the hook never does: a RoleBinding in a namespace that does not belong to a user. */
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
 * Whether the hook's token is kept from other namespaces: a server-side dry run of a forbidden write,
 * which changes nothing, must be refused. If it is accepted, the check fails for every account and version.
 */
export async function guardFinding(
  client: ApiClient,
  identity: string,
  version: string,
): Promise<Finding> {
  const answer = await client.send(createRequest(forbidden, { dryRun: true }));
  const message = typeof answer.body.message === 'string' ? answer.body.message : '';
  if (answer.status === 422 && message.includes('ValidatingAdmissionPolicy'))
    return ok('an admission policy refuses a write outside the namespaces of users');
  if (answer.status === 403)
    return ok('the account has no right to write outside the namespaces of users');
  if (answer.status !== 201) throw apiError('trying a forbidden write', answer);
  return failed(
    `the token of ${identity} can create RoleBindings in kube-system`,
    howToGuard(identity, minorVersion(version)),
  );
}

function howToGuard(identity: string, minor: number | undefined): string {
  const install = `kubectl apply -k ${installedPath('share/etc/kubernetes/guard')}`;
  if (minor !== undefined && minor < validatingPolicySince)
    return `Upgrade to Kubernetes 1.${validatingPolicySince} or later, which has ValidatingAdmissionPolicy; then: ${install}`;
  return guarded.includes(identity)
    ? install
    : `The guard restricts only ${guarded.join(' and ')}: use one of these accounts (berth token setup), or change the matchCondition in ${installedPath('share/etc/kubernetes/guard/guard.yaml')}; then: ${install}`;
}
