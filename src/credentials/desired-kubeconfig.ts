import type { ClusterSettings, JsonObject } from '../config/settings.ts';
import { defaultKubeconfig } from '../config/user-kubeconfig.ts';
import { clusterEntry, type KubeconfigEntries } from './kubeconfig/kubeconfig-entries.ts';
import { kubeconfigUserOf, namespaceOf } from '../desired/user-names.ts';

/**
 * What one cluster needs in the user's kubeconfig: the user entry that proves the identity, and
 * cluster and context as OnDemand's dashboard writes them for auth `oidc`.
 */
export function kubeconfigEntries(
  cluster: ClusterSettings,
  username: string,
  userEntry: JsonObject,
): KubeconfigEntries {
  const { kubeconfig, namespacePrefix, server } = cluster;
  const user = kubeconfigUserOf(cluster, username);
  return {
    user: { name: user, value: userEntry },
    cluster: { name: kubeconfig.cluster, value: clusterEntry(server) },
    context: {
      name: kubeconfig.context,
      value: {
        cluster: kubeconfig.cluster,
        namespace: namespaceOf(namespacePrefix, username),
        user,
      },
    },
    currentContextIfUnset: kubeconfig.context,
  };
}

/** What belongs to clusters, by the kubeconfig of the user's that OnDemand has for each. */
export function byKubeconfig<T extends { readonly cluster: ClusterSettings }>(
  all: readonly T[],
): ReadonlyMap<string, readonly T[]> {
  return Map.groupBy(all, ({ cluster }) => cluster.kubeconfig.file ?? defaultKubeconfig);
}
