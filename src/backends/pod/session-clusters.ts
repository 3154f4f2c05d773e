import { hostname } from 'node:os';
import type { SshSettings } from '../../config/schema/profile/profile.ts';
import type { HookAccessDeps } from '../../clusters/hook-access.ts';
import { readLoginRecord } from '../../clusters/login-record.ts';
import { namespaceOf } from '../../kube/objects/user-names.ts';
import { asBerthError, type BerthError } from '../../errors/berth-error.ts';
import type { User } from '../../identity/nss.ts';
import { loadSiteSettings } from '../../config/load/load-site-settings.ts';
import { deadlineIn } from '../../system/deadline.ts';
import type { ClaimPlace } from './presence/node-claims.ts';
import { podCluster, podProfiles } from './pod-cluster.ts';

/** A cluster on which sessions run in pods. */
export type SessionCluster = ReturnType<typeof podCluster>;

export interface SessionClusters {
  readonly clusters: readonly SessionCluster[];
  readonly deps: HookAccessDeps & { readonly known: readonly string[] };
  readonly failed: readonly { readonly cluster: string; readonly error: BerthError }[];
}

/** Where this node writes its claim on the user's pods and tokens. */
export function claimPlace(cluster: SessionCluster, user: User): ClaimPlace {
  const namespace = namespaceOf(cluster.namespacePrefix, user.name);
  return { namespace, name: cluster.sshSessions.secret, loginHost: hostname() };
}

/** Time limit for the requests to a cluster; sshd waits meanwhile. Milliseconds. */
export const clusterPatienceMs = 8_000;

/** The clusters of the profiles' pods, and what root needs for requests to them. */
export async function sessionClusters(
  settings: Pick<SshSettings, 'profiles' | 'rules'>,
  user: User,
): Promise<SessionClusters> {
  const loaded = await loadSiteSettings({});
  const failed: { readonly cluster: string; readonly error: BerthError }[] = [];
  const clusters = new Map<string, SessionCluster>();
  for (const profile of podProfiles(settings)) {
    try {
      const cluster = podCluster(profile, loaded);
      clusters.set(cluster.name, cluster);
    } catch (thrown) {
      const { cluster = '' } = profile.pod;
      failed.push({ cluster, error: asBerthError(thrown, profile.name) });
    }
  }
  const deps = {
    ...{ stateDir: loaded.settings.stateDir, remember: true },
    ...{
      deadline: deadlineIn(clusterPatienceMs).signal,
      clusterCount: loaded.settings.clusters.length,
    },
    known: readLoginRecord(loaded.settings.stateDir, user.name).clusters,
  };
  return { clusters: [...clusters.values()], deps, failed };
}
