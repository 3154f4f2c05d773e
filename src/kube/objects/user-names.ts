import { BerthError } from '../../system/errors/berth-error.ts';

/** Prefixes of names on one cluster, from its `ClusterSettings`. */
export interface NamePrefixes {
  readonly namespacePrefix: string;
  readonly usernamePrefix: string;
  readonly subjectPrefix: string;
}

/**
 * The user's namespace, as OnDemand's Kubernetes adapter computes it: the prefix, then the user's
 * name with every `.` and `@` as `-` (ood_core, `adapters/kubernetes/batch.rb`, `namespace`). The
 * adapter changes nothing else, not even letter case, and the portal finds only this name.
 *
 * @throws `namespace-name-invalid` if the result is not an RFC 1123 label of at most 63 characters
 */
export function namespaceOf(prefix: string, username: string): string {
  const name = `${prefix}${username.replace(/[.@]/g, '-')}`;
  if (/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(name)) return name;
  throw new BerthError(
    'namespace-name-invalid',
    `user ${username} would get the namespace ${JSON.stringify(name)}`,
    {
      fields: { user: username, namespace: name.slice(0, 80) },
    },
  );
}

/** The subject of RoleBindings: the user name as the API server sees it, with its username prefix. */
export function subjectOf(cluster: Pick<NamePrefixes, 'subjectPrefix'>, username: string): string {
  return `${cluster.subjectPrefix}${username}`;
}

/** The name of the user entry in the kubeconfig: the adapter's `k8s_username`, with `.` and `@`. */
export function kubeconfigUserOf(
  cluster: Pick<NamePrefixes, 'usernamePrefix'>,
  username: string,
): string {
  return `${cluster.usernamePrefix}${username}`;
}
