import type { ClusterSettings } from '../config/settings.ts';
import type { User } from '../identity/user.ts';
import type { ReconcileResult } from '../reconcile/reconcile-user.ts';
import { asInvoker } from '../system/as-user.ts';
import type { Logger } from '../log.ts';
import type { Deadline } from '../system/deadline.ts';
import { hookAccessAsInvoker, type HookAccessDeps } from './hook-access.ts';
import { readTrusted } from '../system/trusted-text.ts';
import { warnOfTokenExpiry } from './token-expiry-warning.ts';
import { bootstrapCluster, checkDockerConfig } from './bootstrap-cluster.ts';
import { clusterOutcome, type ClusterOutcome } from './for-each-cluster.ts';

export interface BootstrapUserInput {
  readonly user: User;
  /** Epoch seconds. */
  readonly now: number;
  /** Clusters on which the user's namespace was seen before. */
  readonly known: readonly string[];
  readonly deadline: Deadline;
  readonly access: HookAccessDeps;
  readonly log: Logger;
}

/** The bootstrap of a user on one cluster while it runs. */
export interface RunningBootstrap {
  /** True as soon as the TLS connection is made, false if the bootstrap ends without one. */
  readonly connected: Promise<boolean>;
  /** Never rejects. */
  readonly outcome: Promise<ClusterOutcome<ReconcileResult>>;
}

/** Starts to create and update the user's objects on one cluster. */
export function bootstrapUser(
  cluster: ClusterSettings,
  { user, now, known, deadline, access, log }: BootstrapUserInput,
): RunningBootstrap {
  const connection = Promise.withResolvers<boolean>();
  const outcome = clusterOutcome(cluster, deadline, async () => {
    // Reads all of root's files in one section, because each change of the process's credentials is expensive.
    const { server, ...files } = await asInvoker(async () => ({
      server: await hookAccessAsInvoker(cluster, access),
      ...readDockerConfig(cluster, access.read),
    }));
    warnOfTokenExpiry(server.token, cluster, now, log);
    return bootstrapCluster({
      user,
      cluster,
      server,
      now,
      expectNew: !known.includes(cluster.name),
      deadline: deadline.signal,
      onConnected: () => connection.resolve(true),
      ...files,
    });
  });
  void outcome.then(() => connection.resolve(false));
  return { connected: connection.promise, outcome };
}

/** The contents of the site's registry credentials, if a pull secret is configured. */
export function readDockerConfig(
  { pullSecret }: ClusterSettings,
  read: (file: string) => string = readTrusted,
): { dockerConfig?: string } {
  if (pullSecret === undefined) return {};
  const file = pullSecret.dockerConfigFile;
  return { dockerConfig: checkDockerConfig(read(file), file) };
}
