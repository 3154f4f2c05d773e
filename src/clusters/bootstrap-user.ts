import type { ClusterSettings } from '../config/settings.ts';
import type { User } from '../identity/user.ts';
import type { ReconcileResult } from '../reconcile/reconcile-user.ts';
import { asOurselves } from '../system/as-user.ts';
import type { Logger } from '../log.ts';
import type { Deadline } from '../system/deadline.ts';
import { localAccess, readTrusted, type AccessDeps } from './admin-access.ts';
import { warnOfTokenEnd } from './admin-token-warning.ts';
import { bootstrapCluster, checkDockerConfig } from './bootstrap-cluster.ts';
import { eachCluster, type ClusterOutcome } from './each-cluster.ts';

export interface BootstrapAllInput {
  readonly user: User;
  readonly clusters: readonly ClusterSettings[];
  /** Epoch seconds. */
  readonly now: number;
  /** Clusters that saw this user before. */
  readonly known: readonly string[];
  readonly deadline: Deadline;
  readonly access: AccessDeps;
  readonly log: Logger;
  /** Told of each cluster that is there, long before its outcome. */
  readonly onConnected: (cluster: ClusterSettings) => void;
}

/** Makes the user's objects on every cluster, all at once: an outcome for each, in their order. */
export function bootstrapUser({
  user,
  clusters,
  now,
  known,
  deadline,
  access,
  log,
  onConnected,
}: BootstrapAllInput): Promise<ClusterOutcome<ReconcileResult>>[] {
  return eachCluster(clusters, deadline, async (cluster) => {
    // Root's files in one go: who the process is changes as seldom as can be.
    const { server, ...files } = await asOurselves(async () => ({
      server: await localAccess(cluster, access),
      ...dockerConfig(cluster, access.read),
    }));
    warnOfTokenEnd(server.token, cluster, now, log);
    return bootstrapCluster({
      user,
      cluster,
      server,
      now,
      expectNew: !known.includes(cluster.name),
      deadline: deadline.signal,
      onConnected: () => onConnected(cluster),
      ...files,
    });
  });
}

/** The contents of the site's registry credentials, where a pull secret is configured. */
export function dockerConfig(
  { pullSecret }: ClusterSettings,
  read: (file: string) => string = readTrusted,
): { dockerConfig?: string } {
  if (pullSecret === undefined) return {};
  const file = pullSecret.dockerConfigFile;
  return { dockerConfig: checkDockerConfig(read(file), file) };
}
