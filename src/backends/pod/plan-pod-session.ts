import { hostname } from 'node:os';
import type { Profile } from '../../config/schema/profile/profile.ts';
import { namespaceOf } from '../../kube/objects/user-names.ts';
import { podSession } from './objects/exec-argv.ts';
import { podObject, type PodObject } from './objects/pod-object.ts';
import type { SessionHost } from '../../session/session-host.ts';
import { sessionRequest } from '../../session/session-request.ts';
import { groupNamesById } from '../../system/group-names.ts';
import { loadSiteSettings } from '../../config/load/load-site-settings.ts';
import type { ResolveConfigPath } from '../../config/load/config-overlay.ts';
import { podCluster } from './pod-cluster.ts';

/** What a login would create and run on a cluster. */
export interface PlannedPod {
  readonly profile: string;
  readonly cluster: string;
  /** The pod that is created if no pod with its name runs. */
  readonly pod: PodObject;
  /** The argv of the session, which the exec receives on standard input. */
  readonly exec: readonly string[];
}

/** Plans a session without a request to the cluster. @throws {BerthError} as `loadSiteSettings` and `podCluster` */
export async function planPodSession(
  input: {
    readonly command?: string;
    readonly tty: boolean;
    readonly files: { readonly overlay?: ResolveConfigPath | undefined };
  },
  host: SessionHost,
  profile: Profile,
): Promise<PlannedPod> {
  const { user, connection } = host;
  const { command, tty, files } = input;
  const { overlay } = files;
  const cluster = podCluster(profile, await loadSiteSettings({ overlay }, { cache: 'read' }));
  const pod = podObject({
    ...{ user, profile, namespace: namespaceOf(cluster.namespacePrefix, user.name) },
    ...{ loginHost: hostname(), groupNames: await groupNamesById([user.gid, ...user.groups]) },
    connection,
  });
  const request = sessionRequest(command === undefined ? [] : ['-c', command], undefined, tty);
  const { opening } = podSession(host, profile, { request, env: {}, nonce: 'NONCE' });
  return { profile: profile.name, cluster: cluster.name, pod, exec: opening.words };
}
