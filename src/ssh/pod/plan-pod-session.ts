import { hostname } from 'node:os';
import type { Profile } from '../../config/profile/profile.ts';
import { namespaceOf } from '../../desired/user-names.ts';
import { podSession } from './objects/exec-argv.ts';
import { podObject, type PodObject } from './objects/pod-object.ts';
import type { SessionHost } from '../request/session-host.ts';
import { sessionRequest } from '../request/session-request.ts';
import { namesOfGroups } from '../../system/group-names.ts';
import { loadSettings } from '../../settings/load-site.ts';
import { podCluster } from './pod-cluster.ts';

/** What a login would make and run on a cluster. The cluster is not asked. */
export interface PlannedPod {
  readonly profile: string;
  readonly cluster: string;
  /** What is made where no pod of that name runs. */
  readonly pod: PodObject;
  /** What the exec runs; it is told by standard input. */
  readonly exec: readonly string[];
}

/** @throws {BerthError} as `loadSettings` and `podCluster` */
export async function planPodSession(
  { command, tty }: { readonly command?: string; readonly tty: boolean },
  host: SessionHost,
  profile: Profile,
): Promise<PlannedPod> {
  const { user, connection } = host;
  const { settings } = await loadSettings({}, { cache: 'read' });
  const cluster = podCluster(profile, settings.clusters);
  const pod = podObject({
    ...{ user, profile, namespace: namespaceOf(cluster.namespacePrefix, user.name) },
    ...{ loginHost: hostname(), groupNames: await namesOfGroups([user.gid, ...user.groups]) },
    ...(connection === undefined ? {} : { connection }),
  });
  const request = sessionRequest(command === undefined ? [] : ['-c', command], undefined, tty);
  const { opening } = podSession(host, profile, { request, env: {}, nonce: 'NONCE' });
  return { profile: profile.name, cluster: cluster.name, pod, exec: opening.words };
}
