import { failed, type Finding, ok, skipped, warning } from '../../system/errors/check-result.ts';
import { tokenSetupCommand } from '../../clusters/access/token-state.ts';
import type { ClusterSettings } from '../../config/schema/settings.ts';
import { installedPath } from '../../system/program/installed-path.ts';
import type { ApiClient } from '../../kube/api-client.ts';
import { apiError } from '../../kube/api-errors.ts';
import { checkUserRoles, readRoleRequest, userRolesHint } from '../../kube/check-user-roles.ts';
import type { UserObjects } from '../../kube/objects/user-objects.ts';
import { clusterRoles, sessionServiceAccount } from '../../kube/objects/well-known-names.ts';
import {
  canI,
  requiredRights,
  rightsForRequest,
  type Right,
  rightText,
  serviceAccountOf,
  tokenRight,
} from '../../kube/required-rights.ts';

/** Whether the account has all rights that the hook needs. */
export async function rightsFinding(
  client: ApiClient,
  objects: UserObjects,
  cluster: ClusterSettings,
  identity: string,
): Promise<Finding> {
  const self = serviceAccountOf(identity);
  const ofRoles = (cluster.userRoles ?? []).map(readRoleRequest).flatMap(rightsForRequest);
  const rights = [
    ...requiredRights(objects),
    ...ofRoles,
    ...(cluster.credentials.mode === 'service-account'
      ? [tokenRight(objects.namespace.metadata.name, cluster.credentials.name)]
      : []),
    ...(self === undefined ? [] : [tokenRight(self.namespace, self.name)]),
  ];
  const missing = await missingRights(client, rights);
  if (missing.length === 0)
    return ok(`the account has all ${rights.length} rights that the hook needs`);
  return failed(
    `${missing.length} of ${rights.length} rights are missing: ${missing.map(rightText).join('; ')}`,
    missingHint(missing, cluster),
  );
}

const install = `kubectl apply -k ${installedPath('share/etc/kubernetes')}`;
/** Installs the account of a login node, and the role of the users' sessions. */
const installSessions = `kubectl apply -k ${installedPath('share/etc/kubernetes/ssh-sessions')}`;
/** Installs the role of the hub, and the right to bind it. */
const installHub = `kubectl apply -k ${installedPath('share/etc/kubernetes/jupyterhub')}`;
/** Installs the right to create the users' volumes. */
const installClaims = `kubectl apply -k ${installedPath('share/etc/kubernetes/volume-claims')}`;
const loginAccountHint = `Run \`${installSessions}\`, then give this host a token of that account: \`berth token setup --cluster NAME --from ADMIN_KUBECONFIG --service-account ondemand/berth-login\`.`;
/** `install` leaves it out: the right to create tokens of that account allows acting as any user. */
const userTokens = installedPath(
  'share/etc/kubernetes/service-account-tokens/service-account-tokens.yaml',
);

/** The names in etc/kubernetes are fixed; `berth token setup` grants the right for another pull secret. */
function missingHint(missing: readonly Right[], cluster: ClusterSettings): string {
  const { pullSecret, credentials } = cluster;
  if (missing.every(({ name }) => name === sessionServiceAccount)) return loginAccountHint;
  const account = credentials.mode === 'service-account' ? credentials.name : undefined;
  const others = missing.filter(
    ({ resource, name }) => resource !== 'serviceaccounts' || name !== account,
  );
  const named = new Set(others.map(({ name = '' }) => name));
  const extra = (cluster.userRoles ?? []).filter((role) => named.has(role));
  const own = others.filter(
    ({ name = '' }) => name !== clusterRoles.jupyterhub && !extra.includes(name),
  );
  const elsewhere = ['secrets', 'persistentvolumeclaims'];
  const hints = [
    own.some(({ resource }) => !elsewhere.includes(resource)) ? `Run \`${install}\`.` : '',
    own.some(({ resource }) => resource === 'persistentvolumeclaims')
      ? `Run \`${installClaims}\`.`
      : '',
    named.has(clusterRoles.jupyterhub) ? `Run \`${installHub}\`.` : '',
    extra.length > 0 ? userRolesHint(extra) : '',
    others.some(({ resource }) => resource === 'secrets')
      ? `Run \`${tokenSetupCommand(cluster)}\`: it also grants the right to write the pull secret ${pullSecret?.name ?? ''}.`
      : '',
    others.length < missing.length
      ? `Check that resourceNames in ${userTokens} names ${account}, then run \`kubectl apply -f ${userTokens}\`.`
      : '',
  ];
  return hints.filter((hint) => hint !== '').join(' ');
}

/** Rights that a stolen token must not have. */
const excessive: readonly Right[] = [
  { verb: 'list', group: '', resource: 'secrets' },
  { verb: 'get', group: '', resource: 'secrets', namespace: 'kube-system' },
  { verb: 'create', group: '', resource: 'pods', namespace: 'kube-system' },
  { verb: 'delete', group: '', resource: 'secrets', namespace: 'kube-system' },
  tokenRight('kube-system', 'default'),
  { verb: 'list', group: '', resource: 'pods' },
  { verb: 'create', group: '', resource: 'pods', subresource: 'exec' },
  { verb: 'delete', group: '', resource: 'namespaces' },
  { verb: 'impersonate', group: '', resource: 'users' },
  { verb: 'create', group: 'rbac.authorization.k8s.io', resource: 'roles' },
  { verb: 'create', group: 'rbac.authorization.k8s.io', resource: 'clusterrolebindings' },
  { verb: 'escalate', group: 'rbac.authorization.k8s.io', resource: 'clusterroles' },
  {
    verb: 'bind',
    group: 'rbac.authorization.k8s.io',
    resource: 'clusterroles',
    name: 'cluster-admin',
  },
];

/**
 * Whether the account has more rights than the hook needs: an admin's credentials, or the role
 * `ondemand` of OSC's hooks, which can read every Secret of the cluster.
 */
export async function excessRightsFinding(client: ApiClient, identity: string): Promise<Finding> {
  const missing = await missingRights(client, excessive);
  const held = excessive.filter((right) => !missing.includes(right));
  if (held.length === 0) return ok('the account has no rights beyond what the hook needs');
  const text = `${identity} has more rights than the hook needs: ${held.map(rightText).join('; ')}`;
  const own = `Give the hook its own account: run \`${install}\`, then \`berth token setup --cluster NAME --from ADMIN_KUBECONFIG\`.`;
  return warning(
    text,
    held.length === excessive.length
      ? own
      : `Find its bindings: \`kubectl get clusterrolebindings -o wide\`. The one of OSC's hooks is named ondemand: \`kubectl delete clusterrolebinding ondemand\`. ${own}`,
  );
}

/** Whether the ClusterRoles to which the hook binds users exist, and whether users may have those of `user_roles`. */
export async function rolesFinding(
  client: ApiClient,
  { members }: UserObjects,
  cluster: Pick<ClusterSettings, 'userRoles' | 'userRoleResources'>,
): Promise<Finding> {
  const { refused } = await checkUserRoles(client, cluster);
  const [first] = refused;
  if (first !== undefined)
    return failed(refused.map(({ message }) => message).join('; '), first.hint);
  const names = members
    .filter((member) => member.kind === 'RoleBinding')
    .map(({ roleRef }) => roleRef.name);
  const statuses = await Promise.all(
    names.map(async (name) => {
      const answer = await client.send(readRoleRequest(name));
      if (![200, 403, 404].includes(answer.status))
        throw apiError(`reading ClusterRole ${name}`, answer);
      return { name, status: answer.status };
    }),
  );
  const named = (status: number): string[] =>
    statuses.filter((one) => one.status === status).map(({ name }) => name);
  const absent = named(404);
  if (absent.length > 0)
    return failed(
      `ClusterRole ${absent.join(', ')} does not exist: bindings to it have no effect`,
      absent.includes(clusterRoles.jobPodReaper)
        ? `Install OSC's job-pod-reaper, or set job_pod_reaper: false in berth.yml. Then run \`${install}\`.`
        : absent.includes(clusterRoles.session)
          ? installSessions
          : absent.includes(clusterRoles.jupyterhub)
            ? installHub
            : install,
    );
  const unseen = named(403);
  if (unseen.length === 0) return ok(`ClusterRoles ${names.join(', ')} exist`);
  return skipped(
    `the account of the hook may not read ClusterRoles ${unseen.join(', ')}; check as an admin: kubectl get clusterroles ${unseen.join(' ')}`,
  );
}

async function missingRights(client: ApiClient, rights: readonly Right[]): Promise<Right[]> {
  const granted = await Promise.all(rights.map((right) => canI(client, right)));
  return rights.filter((_, index) => granted[index] !== true);
}

/**
 * Whether `pam-session` has the rights that the portal's hook does not need: to issue tokens of the
 * sessions' account, bound to a Secret that it creates and deletes.
 */
export async function sessionRightsFinding(
  client: ApiClient,
  { sshSessions }: ClusterSettings,
  namespace: string,
): Promise<Finding> {
  const secret = sshSessions?.secret ?? '';
  const onSecret = ['create', 'patch', 'delete'].map((verb): Right => ({
    verb,
    group: '',
    resource: 'secrets',
    name: secret,
    namespace,
  }));
  const rights = [tokenRight(namespace, sessionServiceAccount), ...onSecret];
  const missing = await missingRights(client, rights);
  if (missing.length === 0)
    return ok(`tokens of ${sessionServiceAccount} can be issued and revoked`);
  const isNamed = missing.every((right) => onSecret.includes(right));
  return failed(
    `sessions in pods are not possible, missing rights: ${missing.map(rightText).join('; ')}`,
    isNamed
      ? `Name the Secret ${secret} in the resourceNames of ${installedPath('share/etc/kubernetes/ssh-sessions/ssh-sessions.yaml')} and apply it, or leave out ssh_sessions.secret.`
      : loginAccountHint,
  );
}
