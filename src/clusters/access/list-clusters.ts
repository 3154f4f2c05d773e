import type { ClusterSettings } from '../../config/schema/settings.ts';
import type { LoadedSiteSettings } from '../../config/schema/site-file-contents.ts';
import { parseKubeconfig } from '../../credentials/kubeconfig/kubeconfig-document.ts';
import { expectBerthError } from '../../system/errors/berth-error.ts';
import { entriesOfContext } from '../../kube/admin-kubeconfig.ts';
import { clusterFile } from '../../config/load/config-overlay.ts';
import type { ResolveConfigPath } from '../../config/load/config-path.ts';
import { readTrusted } from '../../system/trusted-text.ts';
import { contextChoice } from './hook-access.ts';

/** A cluster whose configuration is valid. */
export interface ListedCluster {
  /** As in OnDemand. */
  readonly name: string;
  /** URL of the API server. */
  readonly server: string;
  /** As `v2.job.auth.type` says. */
  readonly auth: ClusterSettings['auth'];
  /** What Berth gives to users. */
  readonly credentials: ClusterSettings['credentials']['mode'];
  /** The file of clusters.d. */
  readonly file: string;
  /** Name of the Cluster object in the management cluster. */
  readonly clusterApi?: string;
  readonly hook: HookContext;
}

/** The context of the hook in root's kubeconfig. */
interface HookContext {
  readonly kubeconfig: string;
  /** Absent if there is none that the hook would use. */
  readonly context?: string;
  /** Why there is none. */
  readonly problem?: string;
}

/** The clusters in their order, without asking them. */
export function listClusters(
  { settings }: LoadedSiteSettings,
  at?: ResolveConfigPath,
): readonly ListedCluster[] {
  const { clusters, clustersDir } = settings;
  const contextOf = hookContexts(clusters.length);
  return clusters.map((cluster) => {
    const { name, server, auth, credentials, admin } = cluster;
    return {
      name,
      server: server.endpoint,
      auth,
      credentials: credentials.mode,
      file: clusterFile(clustersDir, name, at) ?? clustersDir,
      ...(admin.kind === 'cluster-api' && { clusterApi: admin.management.cluster }),
      hook: contextOf(cluster),
    };
  });
}

/** Reads each kubeconfig once: most clusters share root's. */
function hookContexts(clusterCount: number): (cluster: ClusterSettings) => HookContext {
  const read = new Map<string, ReturnType<typeof parseKubeconfig>>();
  return (cluster) => {
    const choice = contextChoice(cluster, clusterCount);
    const { file: kubeconfig } = choice;
    try {
      const document = read.get(kubeconfig) ?? parseKubeconfig(readTrusted(kubeconfig), kubeconfig);
      read.set(kubeconfig, document);
      return { kubeconfig, context: entriesOfContext(document.values, choice).context };
    } catch (thrown) {
      expectBerthError(thrown);
      return { kubeconfig, problem: thrown.message };
    }
  };
}
