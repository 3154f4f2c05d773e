import { installedPath } from '../installed-path.ts';
import type { CheckText } from './check-text.ts';

const manifests = installedPath('share/etc/kubernetes');

export const clusterCheckTexts = {
  'cluster-config': {
    what: 'Whether the file of the cluster in clusters.d and its keys in berth.yml are valid.',
    why: 'The cluster is left out; logins go on without it.',
    next: 'Correct the file and the line that the message names.',
  },
  'admin-kubeconfig-mode': {
    what: 'Owner and mode of the kubeconfig with the token of the hook.',
    why: 'Users other than root can read the token.',
    next: 'Run `chmod 0600` on it, and renew the token.',
  },
  'docker-config-mode': {
    what: 'Owner and mode of the file with the pull secret.',
    why: 'Users other than root can read the credentials of the registry.',
    next: 'Run `chmod 0600` on it, and change the credentials.',
  },
  'cluster-ca': {
    what: 'Whether the CA file of the cluster can be read by all users.',
    why: 'kubectl of users cannot verify the API server.',
    next: 'Correct the path in clusters.d, or run `chmod 0644` on the file.',
  },
  'admin-credentials': {
    what: 'Whether the kubeconfig of root has credentials for the address of the cluster.',
    why: 'The hook has no access to the cluster.',
    next: 'Run `berth token setup --cluster NAME`.',
  },
  'admin-token': {
    what: 'How long the token of the hook is valid, and of which account it is.',
    why: 'The hook loses its access when it expires.',
    next: 'Run `berth token rotate`, and enable berth-token-rotate.timer.',
  },
  api: {
    what: 'Whether the API server answers, and accepts the token of the hook.',
    why: 'Logins cannot prepare the namespace of the user.',
    next: 'Check address, CA and network; renew the token if it is refused.',
  },
  'api-certificate': {
    what: 'When the certificate of the API server expires.',
    why: 'All access ends when it does.',
    next: 'Renew it, for example with `kubeadm certs renew apiserver`.',
  },
  'api-clock': {
    what: 'Whether the clocks of this host and of the API server agree.',
    why: 'Valid tokens count as expired or as not yet valid.',
    next: 'Synchronize the clock of the host that is wrong.',
  },
  'api-version': {
    what: 'Whether this version of Kubernetes is supported.',
    why: 'Parts of Berth, such as the admission policies, may not work.',
    next: 'Upgrade the cluster to Kubernetes 1.30 or later.',
  },
  names: {
    what: 'Whether the namespace and the other names of the user are valid.',
    why: 'Kubernetes would refuse the objects of this user.',
    next: 'Correct `namespace_prefix` of the cluster, or see the message.',
  },
  rights: {
    what: 'Whether the account of the hook may do what a login needs.',
    why: 'Logins fail at the request that the message names.',
    next: 'Run the command that doctor prints for the missing rights.',
  },
  'excess-rights': {
    what: 'Whether the account of the hook may do more than a login needs.',
    why: 'Whoever has the token of the hook has these rights too.',
    next: `Use the account that ${manifests} creates.`,
  },
  'cluster-roles': {
    what: 'Whether the ClusterRoles exist to which the hook binds users.',
    why: 'Users get bindings without a right.',
    next: 'Run the command that doctor prints for the missing roles.',
  },
  objects: {
    what: 'Whether the API server would accept the objects of a user, with a dry run.',
    why: 'Logins fail at the object that the message names.',
    next: 'Correct the key of berth.yml that makes the object.',
  },
  'object-counts': {
    what: 'Whether `resource_quota` limits the number of objects of each kind that users can create.',
    why: 'One user can fill etcd, and then the API server accepts no more writes: nobody can log in.',
    next: 'Set the counts that the message names in `resource_quota.hard` of berth.yml.',
  },
  guard: {
    what: 'Whether the token of the hook is kept from other namespaces, with a dry run of a forbidden write.',
    why: 'Whoever has the token of the hook can write to every namespace.',
    next: `Install the guard policy of ${manifests}.`,
  },
  admission: {
    what: 'Whether the admission policies are installed and as this version of Berth renders them.',
    why: 'Pods of users may do what admission.yml forbids.',
    next: 'Apply what `berth render policies` prints.',
  },
  'ssh-sessions': {
    what: 'Whether the login nodes have the rights that sessions in pods need.',
    why: 'No session in a pod starts on this cluster.',
    next: `Run \`kubectl apply -k ${manifests}/ssh-sessions\`.`,
  },
  'user-namespace': {
    what: 'Whether the namespace belongs to the user, and is as a login sets it up.',
    why: 'Another owner, or objects that somebody has changed.',
    next: 'See the message; the next login restores the objects that the hook manages.',
  },
  'cluster-api-oidc': {
    what: 'Whether Cluster API gives the API servers the OIDC settings that Berth uses.',
    why: 'Tokens of users are refused on this cluster.',
    next: 'Correct the settings in the Cluster, or in berth.yml.',
  },
  'ondemand-keys': {
    what: "OnDemand's settings that contradict Berth: in the cluster's file in clusters.d, in nginx_stage.yml, and in the dashboard's dotenv files.",
    why: 'OnDemand uses other clusters, credentials or namespaces than Berth, or offers users links that do not work.',
    next: 'Remove or correct the settings that the message names.',
  },
  'ondemand-kubectl': {
    what: 'The kubectl that OnDemand runs (`bin`), and its version.',
    why: 'It is missing, or too old for the API server; jobs of the portal fail.',
    next: 'Install another kubectl, or correct `bin` in clusters.d.',
  },
  'ondemand-mounts': {
    what: 'Whether the cluster would accept the `mounts` that OnDemand gives to its pods.',
    why: 'Jobs of the portal are refused.',
    next: 'Allow the paths in admission.yml, or remove the mounts.',
  },
} satisfies Readonly<Record<string, CheckText>>;
