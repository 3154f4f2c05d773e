import { type AdmissionSettings, siteAdmission } from '../../kube/admission/admission-settings.ts';
import { probeIdentity, probeNamespace } from '../../kube/admission/probe-namespace.ts';
import { podObject } from '../../sessions/backends/pod/objects/pod-object.ts';
import { podCluster, podProfiles } from '../../sessions/backends/pod/pod-cluster.ts';
import {
  type CheckResult,
  failed,
  type Finding,
  ok,
  skipped,
} from '../../system/errors/check-result.ts';
import { runCheck } from '../../system/run-check.ts';
import { hookAccess } from '../../clusters/access/hook-access.ts';
import type { Profile, SshSettings } from '../../config/schema/profile/profile.ts';
import type { ClusterSettings } from '../../config/schema/settings.ts';
import type { LoadedSiteSettings } from '../../config/schema/site-file-contents.ts';
import type { User } from '../../system/identity/nss.ts';
import { installedPath } from '../../system/program/installed-path.ts';
import type { ApiClient } from '../../kube/api-client.ts';
import { canI } from '../../kube/required-rights.ts';
import { podRefusal, probePod } from './admission-check.ts';
import { withClient } from './cluster-checks.ts';

/**
 * Whether a cluster accepts sessions for each profile with pods, and their pods. Whether the hook has the rights there is
 * checked with the cluster.
 *
 * @param loaded undefined if the configuration of the clusters is missing or cannot be read
 * @param user whose home the pods would mount
 */
export async function checkPods(
  settings: SshSettings,
  loaded: LoadedSiteSettings | undefined,
  timeoutMs: number,
  user?: User,
): Promise<CheckResult[]> {
  const results = await Promise.all(
    podProfiles(settings).map(async (profile) => {
      let cluster: ClusterSettings | undefined;
      const run = () => {
        if (loaded === undefined)
          return failed(
            `profile ${profile.name}: its sessions are pods, but the clusters are not known`,
            `Run \`berth init login-node --backend pod\`, or write clusters.d and berth.yml: ${installedPath('share/docs/ssh-pods.md')}.`,
          );
        cluster = podCluster(profile, loaded);
        return ok(`profile ${profile.name}: its sessions are pods on ${cluster.name}`);
      };
      const result = await runCheck('ssh-pods', run, timeoutMs);
      if (cluster === undefined || loaded === undefined) return [result];
      const admits = admissionOf(profile, cluster, loaded.settings, user);
      return [result, await runCheck('ssh-pod-admission', admits, timeoutMs)];
    }),
  );
  return results.flat();
}

function admissionOf(
  profile: Profile,
  cluster: ClusterSettings,
  { stateDir, clusters }: LoadedSiteSettings['settings'],
  user: User | undefined,
) {
  return async (deadline: AbortSignal): Promise<Finding> => {
    const deps = { stateDir, clusterCount: clusters.length, remember: false, deadline };
    const server = await hookAccess(cluster, deps).catch(() => undefined);
    // The checks of the cluster say why.
    if (server === undefined)
      return skipped(`profile ${profile.name}: there are no credentials for ${cluster.name}`);
    return withClient(server, deadline, (client) => podAdmissionFinding(client, profile, user));
  };
}

/**
 * Whether the cluster accepts the pod of a profile's sessions: a server-side dry run in the probe namespace, as its owner, which
 * changes nothing. Images are not tested: in that namespace the policies accept all.
 *
 * @param user whose home tells where the owner's would be; without one, directories of users are left out
 */
export async function podAdmissionFinding(
  client: ApiClient,
  profile: Profile,
  user: User | undefined,
  settings: Pick<AdmissionSettings, 'prefix'> = siteAdmission(),
): Promise<Finding> {
  const namespace = probeNamespace(settings);
  const right = { verb: 'create', group: '', resource: 'pods', namespace } as const;
  const about = `profile ${profile.name}`;
  if (!(await canI(client, right)))
    return skipped(`${about}: not tested without the policies, see the check \`admission\``);
  const tried = user === undefined ? withoutUserMounts(profile) : profile;
  const pod = podObject({
    user: probeUser(user),
    profile: tried,
    namespace,
    loginHost: 'berth-doctor',
    groupNames: new Map<number, string>(),
  });
  const refused = await podRefusal(client, namespace, pod);
  if (refused === undefined) {
    const left = tried.mounts.length < profile.mounts.length;
    return ok(
      `${about}: the cluster accepts its pods${left ? ' without the directories of users, which --user NAME includes' : ''}`,
    );
  }
  if ((await podRefusal(client, namespace, probePod({}))) === refused)
    return skipped(`${about}: not tested, because a pod without anything is refused, too`);
  return failed(
    `${about}: the cluster refuses its pods, so no session starts: ${refused}`,
    "Correct the profile, or allow it in admission.yml (`host_paths` for mounts) on the host that has the site's, and then, as an admin of the cluster: berth render policies | kubectl apply -f -",
  );
}

function withoutUserMounts(profile: Profile): Profile {
  const isSame = (path = ''): boolean => !path.includes('$');
  const mounts = profile.mounts.filter(({ source, target }) => isSame(source) && isSame(target));
  return { ...profile, mounts };
}

/** The owner of the probe namespace, with a home beside the user's. */
function probeUser({ name, home }: Pick<User, 'name' | 'home'> = { name: '', home: '/' }): User {
  const { owner, uid, gid } = probeIdentity;
  const parts = home.split('/').map((part) => (part !== '' && part === name ? owner : part));
  return { name: owner, uid, gid, groups: [gid], home: parts.join('/'), shell: '/bin/sh' };
}
