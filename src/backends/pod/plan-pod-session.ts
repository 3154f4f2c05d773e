import { hostname } from 'node:os';
import { namespaceOf } from '../../kube/objects/user-names.ts';
import { loadSiteSettings } from '../../config/load/load-site-settings.ts';
import { groupNamesById } from '../../system/group-names.ts';
import type { PlanInput, PlannedPod, SessionToOpen } from '../backend.ts';
import { podSession } from './objects/exec-argv.ts';
import { podObject } from './objects/pod-object.ts';
import { podCluster } from './pod-cluster.ts';

/** Plans a session without a request to the cluster. @throws {BerthError} as `loadSiteSettings` and `podCluster` */
export async function planPodSession(
  { host, profile, request, env }: SessionToOpen,
  { overlay }: PlanInput,
): Promise<PlannedPod> {
  const { user, connection } = host;
  const cluster = podCluster(profile, await loadSiteSettings({ overlay }, { cache: 'read' }));
  const pod = podObject({
    ...{ user, profile, namespace: namespaceOf(cluster.namespacePrefix, user.name), connection },
    ...{ loginHost: hostname(), groupNames: await groupNamesById([user.gid, ...user.groups]) },
  });
  const { opening } = podSession(host, profile, { request, env, nonce: 'NONCE' });
  return { profile: profile.name, cluster: cluster.name, pod, exec: opening.words };
}
