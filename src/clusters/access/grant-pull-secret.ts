import type { KubeObject } from '../../kube/objects/kube-object.ts';
import type { ApiClient } from '../../kube/api-client.ts';
import { applyError } from '../../kube/api-errors.ts';
import { applyRequest } from '../../kube/requests.ts';
import { canI, type ServiceAccountName } from '../../kube/required-rights.ts';
import { withHint } from '../../system/errors/berth-error.ts';

/**
 * Lets the hook's account write pull secrets with the site's name, unless it may already: etc/kubernetes has only the
 * default name. The objects are not those of etc/kubernetes, so applying it again leaves them.
 *
 * @param admin may grant the right
 * @param hook has the account's token
 * @throws {BerthError} the `api-…` errors
 */
export async function grantPullSecret(
  { admin, hook }: { readonly admin: ApiClient; readonly hook: ApiClient },
  account: ServiceAccountName,
  secret: string,
): Promise<void> {
  const right = { verb: 'patch', group: '', resource: 'secrets', name: secret };
  if (await canI(hook, right)) return;
  for (const object of objectsFor(account, secret)) {
    const answer = await admin.send(applyRequest(object));
    if (answer.status === 200 || answer.status === 201) continue;
    const error = applyError(object, answer);
    throw answer.status === 403
      ? withHint(
          error,
          `Use the kubeconfig of a cluster admin, or have one allow ${account.name} to get, create and patch Secrets with the name ${secret}; then run this again.`,
          error,
        )
      : error;
  }
}

function objectsFor({ namespace, name: account }: ServiceAccountName, secret: string) {
  const name = `${account}-pull-secret-${secret}`;
  const common = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    metadata: { name, labels: { 'berth.dev/pull-secret': account } },
  };
  const rule = { apiGroups: [''], resources: ['secrets'], resourceNames: [secret] };
  return [
    { ...common, kind: 'ClusterRole', rules: [{ ...rule, verbs: ['get', 'create', 'patch'] }] },
    {
      ...common,
      kind: 'ClusterRoleBinding',
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [{ kind: 'ServiceAccount', name: account, namespace }],
    },
  ] as const satisfies readonly KubeObject[];
}
