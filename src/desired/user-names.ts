import { BerthError } from '../errors.ts';

/** What the names of one cluster begin with: the prefixes of its `ClusterSettings`. */
export interface NamePrefixes {
  readonly namespacePrefix: string;
  readonly usernamePrefix: string;
  readonly subjectPrefix: string;
}

/**
 * The user's namespace, as OnDemand's Kubernetes adapter computes it: the prefix, then the user's
 * name with every `.` and `@` as `-` (ood_core, `adapters/kubernetes/batch.rb`, `namespace`). The
 * adapter changes nothing else, no letter case either: a namespace that we would spell better is
 * one that the portal does not find.
 *
 * @throws `namespace-name-invalid` where the result is no RFC 1123 label of at most 63 characters
 */
export function namespaceOf(prefix: string, username: string): string {
  const name = `${prefix}${username.replace(/[.@]/g, '-')}`;
  if (/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(name)) return name;
  throw new BerthError(`user ${username} would get the namespace ${JSON.stringify(name)}`, {
    code: 'namespace-name-invalid',
    exit: 'config',
    hint: 'A namespace has 1 to 63 of a-z, 0-9 and `-`, and no `-` at its ends: change namespace_prefix, or the account.',
    fields: { user: username, namespace: name.slice(0, 80) },
  });
}

/** The name that RoleBindings give: what the API server sees, its own username prefix included. */
export function subjectOf(cluster: Pick<NamePrefixes, 'subjectPrefix'>, username: string): string {
  return `${cluster.subjectPrefix}${username}`;
}

/** The user entry of the kubeconfig: the adapter's `k8s_username`, where `.` and `@` stay. */
export function kubeconfigUserOf(
  cluster: Pick<NamePrefixes, 'usernamePrefix'>,
  username: string,
): string {
  return `${cluster.usernamePrefix}${username}`;
}
