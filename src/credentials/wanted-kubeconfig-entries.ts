import type { ClusterSettings, JsonObject } from '../config/schema/settings.ts';
import { defaultKubeconfig } from '../config/schema/kubeconfig-path.ts';
import { clusterEntry, type KubeconfigEntries } from './kubeconfig/kubeconfig-entries.ts';
import { kubeconfigUserOf, namespaceOf } from '../kube/objects/user-names.ts';

/**
 * The entries of one cluster in the user's kubeconfig: the user entry with the credential, and cluster and
 * context as OnDemand's dashboard writes them for auth `oidc`.
 */
export function wantedKubeconfigEntries(
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

/** Groups by the path of the kubeconfig that OnDemand uses for each cluster. */
export function groupByKubeconfig<T extends { readonly cluster: ClusterSettings }>(
  all: readonly T[],
): ReadonlyMap<string, readonly T[]> {
  return Map.groupBy(all, ({ cluster }) => cluster.kubeconfig.file ?? defaultKubeconfig);
}
