import { backendOf } from '../../backends/backends.ts';
import { chooseProfile, type ProfileChoice } from '../../config/schema/profile/choose-profile.ts';
import type { Profile, SshSettings } from '../../config/schema/profile/profile.ts';
import { userOfUid } from '../../identity/nss.ts';
import { groupNamesOf } from '../../system/group-names.ts';
import { mapConcurrent } from '../../system/map-concurrent.ts';
import { runProgram } from '../../system/run-program.ts';
import { isLoginShell } from '../../session/session-request.ts';
import type { Session } from './list-sessions.ts';

/** What a user gets at an sshd. */
type Given = { readonly profile: Profile } | 'host' | 'unknown';

/** sshd -T takes some ten milliseconds of CPU; a directory service may hang. */
const [atOnce, patienceMs] = [4, 5_000];

/** By user and address: a connection does not change its profile, and a program that waits looks again and again. */
const known = new Map<string, Promise<Given>>();

/**
 * Adds profile, backend and container or pod to the sessions: what the configuration gives to this user at this sshd now.
 * Users have no influence on it, but it may have changed since they logged in. What their processes say does not count:
 * who has a shell on the host can start one that says anything.
 *
 * @param until the sessions that are left when it is aborted are returned as they were
 */
export async function withConfiguredProfiles(
  sessions: readonly Session[],
  settings: SshSettings,
  until?: AbortSignal,
): Promise<readonly Session[]> {
  return await mapConcurrent(sessions, atOnce, async (session) => {
    if (until?.aborted === true) return session;
    const { uid, peer, local, unit } = session;
    const key = JSON.stringify([uid, peer?.address, local, unit]);
    const given = known.get(key) ?? configuredFor(session, settings, until);
    known.set(key, given);
    return withGiven(session, await given);
  });
}

/** The session with what it was given; the name of its container counts only if it is that of the profile. */
export async function withGiven(session: Session, given: Given): Promise<Session> {
  if (given === 'unknown') return session;
  if (given === 'host') return { ...session, backend: 'host' };
  const { profile } = given;
  const names = await backendOf(profile).sessionNames(profile, session.id, session.claimedName);
  return { ...session, profile: profile.name, backend: profile.backend, ...names };
}

async function configuredFor(
  session: Session,
  settings: SshSettings,
  until?: AbortSignal,
): Promise<Given> {
  const { user, uid, local } = session;
  const shell = userOfUid(uid)?.shell;
  const forced = await forcedCommand(session, until);
  if (shell === undefined || forced === undefined) return 'unknown';
  const isBerths = /(?:^|\/)login(?: |$)/.test(forced);
  if (!isBerths && !isLoginShell(shell)) return 'host';
  const wanted = isBerths ? /\s--profile[= ](\S+)/.exec(forced)?.[1] : undefined;
  const choice = choiceFor(user, { settings, wanted, port: local?.port });
  if (choice === undefined || choice.kind === 'refuse') return 'unknown';
  return choice.kind === 'host-shell' ? 'host' : { profile: choice.profile };
}

/** @returns undefined if the names of the user's groups are not known now */
function choiceFor(
  user: string,
  input: {
    readonly settings: SshSettings;
    readonly wanted: string | undefined;
    readonly port: number | undefined;
  },
): ProfileChoice | undefined {
  const { settings, wanted, port } = input;
  try {
    return chooseProfile(settings, { user, groups: groupNamesOf(user), wanted, port });
  } catch {
    return undefined;
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
    { timeout: patienceMs, signal },
  );
  return error === undefined ? /^forcecommand (.*)$/m.exec(stdout)?.[1] : undefined;
}
