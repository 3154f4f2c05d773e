import type { ClusterSettings, SiteSettings } from '../config/settings.ts';
import { asBerthError, type BerthError } from '../errors.ts';
import type { User } from '../identity/user.ts';
import type { ReconcileResult } from '../reconcile/reconcile-user.ts';
import type { Deadline } from '../system/deadline.ts';
import { adminAccess, type AccessDeps } from './admin-access.ts';
import { bootstrapCluster, checkDockerConfig } from './bootstrap-cluster.ts';

export interface BootstrapAllInput {
  readonly user: User;
  readonly settings: SiteSettings;
  /** Epoch seconds. */
  readonly now: number;
  /** Clusters that saw this user before. */
  readonly known: readonly string[];
  readonly deadline: Deadline;
  readonly access: Omit<AccessDeps, 'deadline' | 'clusterCount'>;
}

export interface ClusterOutcome {
  readonly cluster: ClusterSettings;
  readonly result?: ReconcileResult;
  readonly error?: BerthError;
  /** Milliseconds. */
  readonly took: number;
}

/**
 * Makes the user's objects on every cluster, all at once. A cluster that is dead, slow or wrongly
 * configured has an outcome with its error; the others do not notice.
 */
export function bootstrapUser(input: BootstrapAllInput): Promise<ClusterOutcome[]> {
  return Promise.all(input.settings.clusters.map((cluster) => bootstrapOne(cluster, input)));
}

async function bootstrapOne(
  cluster: ClusterSettings,
  { user, settings, now, known, deadline, access }: BootstrapAllInput,
): Promise<ClusterOutcome> {
  const started = performance.now();
  const took = (): number => Math.round(performance.now() - started);
  try {
    const deps = { ...access, deadline: deadline.signal, clusterCount: settings.clusters.length };
    const result = await bootstrapCluster({
      user,
      cluster,
      server: await adminAccess(cluster, deps),
      now,
      expectNew: !known.includes(cluster.name),
      deadline: deadline.signal,
      ...dockerConfig(cluster, access.read),
    });
    return { cluster, result, took: took() };
  } catch (thrown) {
    return { cluster, error: asBerthError(thrown, `cluster ${cluster.name}`), took: took() };
  }
}

export function dockerConfig(
  { pullSecret }: ClusterSettings,
  read: (path: string) => string,
): { dockerConfig?: string } {
  if (pullSecret === undefined) return {};
  const file = pullSecret.dockerConfigFile;
  return { dockerConfig: checkDockerConfig(read(file), file) };
}
