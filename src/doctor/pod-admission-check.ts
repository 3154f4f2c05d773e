import { type AdmissionSettings, siteAdmission } from '../admission/admission-settings.ts';
import { probeIdentity, probeNamespace } from '../admission/probe-namespace.ts';
import { failed, type Finding, ok, skipped } from '../check-result.ts';
import type { Profile } from '../config/schema/profile/profile.ts';
import type { User } from '../identity/user.ts';
import type { ApiClient } from '../kube/api-client.ts';
import { canI } from '../kube/self-subject-review.ts';
import { podObject } from '../backends/pod/objects/pod-object.ts';
import { podRefusal, probePod } from './admission-check.ts';

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
    ...{ user: probeUser(user), profile: tried, namespace },
    ...{ loginHost: 'berth-doctor', groupNames: new Map<number, string>() },
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
