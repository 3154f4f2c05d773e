import { backendOf } from '../../sessions/backends/backends.ts';
import {
  chooseProfile,
  offeredProfiles,
  type ProfileRequest,
} from '../../config/schema/profile/choose-profile.ts';
import type { Profile, SshSettings } from '../../config/schema/profile/profile.ts';
import type { NotedProfile } from '../../sessions/connections/session-notes.ts';
import { userOfUid } from '../../system/identity/nss.ts';
import { groupNamesOf } from '../../system/group-names.ts';
import { mapConcurrent } from '../../system/map-concurrent.ts';
import { runProgram } from '../../system/run-program.ts';
import { isLoginShell } from '../../sessions/request/session-request.ts';
import type { Session } from './list-sessions.ts';
import { notedProfiles } from './noted-profiles.ts';

/** What a connection has: the profiles of its sessions, the newest first. */
type Given = readonly [Profile, ...Profile[]] | 'host' | 'unknown';

/** What the rules are applied to for a user at an sshd. */
type Asked = ProfileRequest | 'host' | 'unknown';

/** sshd -T takes some ten milliseconds of CPU; a directory service may hang. */
const [atOnce, timeoutMs] = [4, 5_000];

/** By user and address: sshd does not change its mind about a connection, and a program that waits looks again and again. */
const known = new Map<string, Promise<Asked>>();

/**
 * Adds profile, backend and container, pod or job to the sessions: what the logins of the connection have noted. The notes
 * are in a directory of the user, who may have a shell on the host: they count only for profiles that the configuration
 * offers to this user at this sshd now. Without such a note, such as for `ssh -N`, it is the profile of who asks for none.
 * What processes say does not count: who has a shell on the host can start one that says anything.
 *
 * @param until the sessions that are left when it is aborted are returned as they were
 */
export async function withProfiles(
  sessions: readonly Session[],
  settings: SshSettings,
  until?: AbortSignal,
): Promise<readonly Session[]> {
  return await mapConcurrent(sessions, atOnce, async (session) => {
    if (until?.aborted === true) return session;
    const { uid, peer, local, unit } = session;
    const key = JSON.stringify([uid, peer?.address, local, unit]);
    const asking = known.get(key) ?? requestOf(session, until);
    known.set(key, asking);
    const asked = await asking;
    if (typeof asked === 'string') return withGiven(session, asked);
    return withGiven(session, givenProfiles(settings, asked, await notedProfiles(uid, session.id)));
  });
}

/**
 * The profiles of a connection's sessions.
 *
 * @param noted what its logins wrote, the oldest first
 */
export function givenProfiles(
  settings: SshSettings,
  asked: ProfileRequest,
  noted: readonly NotedProfile[],
): Given {
  const usual = chooseProfile(settings, asked);
  const possible = [
    ...(usual.kind === 'profile' ? [usual.profile] : []),
    ...offeredProfiles(settings, asked),
  ];
  const [newest, ...others] = noted.toReversed().flatMap((note) => {
    const named = possible.filter(({ name }) => name === note.profile);
    return named.find(({ backend }) => backend === note.backend) ?? named[0] ?? [];
  });
  if (newest !== undefined) return [newest, ...others];
  if (usual.kind === 'profile') return [usual.profile];
  return usual.kind === 'host-shell' ? 'host' : 'unknown';
}

/** The session with what it was given; the name of its container counts only if it is that of the profile. */
export async function withGiven(session: Session, given: Given): Promise<Session> {
  if (given === 'unknown') return session;
  if (given === 'host') return { ...session, backend: 'host' };
  const [profile] = given;
  const names = await backendOf(profile).sessionNames(profile, session.id, session.claimedName);
  const profiles = given.map(({ name }) => name);
  return { ...session, profile: profile.name, profiles, backend: profile.backend, ...names };
}

async function requestOf(session: Session, until?: AbortSignal): Promise<Asked> {
  const { user, uid, local } = session;
  const shell = userOfUid(uid)?.shell;
  const forced = await forcedCommand(session, until);
  if (shell === undefined || forced === undefined) return 'unknown';
  const isBerths = /(?:^|\/)login(?: |$)/.test(forced);
  if (!isBerths && !isLoginShell(shell)) return 'host';
  const wanted = isBerths ? /\s--profile[= ](\S+)/.exec(forced)?.[1] : undefined;
  try {
    return { user, groups: groupNamesOf(user), wanted, port: local?.port };
  } catch {
    // The names of the user's groups are not known now.
    return 'unknown';
  }
}

/**
 * ForceCommand for a connection, from `sshd -T` with the configuration of the sshd that accepted it.
 *
 * @returns `none` without one; undefined if sshd does not say
 */
async function forcedCommand(
  { user, peer, local, unit }: Session,
  signal?: AbortSignal,
): Promise<string | undefined> {
  if (peer === undefined || local === undefined) return undefined;
  const kind = /^berth-sshd@(.+)\.service$/.exec(unit ?? '')?.[1];
  const config = kind === undefined ? '/etc/ssh/sshd_config' : `/etc/ssh/berth/${kind}.conf`;
  const ends = `laddr=${local.address},lport=${local.port}`;
  const connection = `user=${user},host=${peer.address},addr=${peer.address},${ends}`;
  const { error, stdout } = await runProgram(
    '/usr/sbin/sshd',
    ['-T', '-f', config, '-C', connection],
    { timeoutMs, signal },
  );
  return error === undefined ? /^forcecommand (.*)$/m.exec(stdout)?.[1] : undefined;
}
