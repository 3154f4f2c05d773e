import { hostname } from 'node:os';
import { chooseProfile, type ProfileChoice } from '../../config/profile/choose-profile.ts';
import type { SshSettings } from '../../config/profile/profile.ts';
import { userOfUid } from '../../identity/user-of-uid.ts';
import { groupNamesOf } from '../../system/group-names.ts';
import { mapConcurrent } from '../../system/map-concurrent.ts';
import { runProgram } from '../../system/run-program.ts';
import { podName } from '../pod/objects/pod-object.ts';
import { isLoginShell } from '../request/login-shell.ts';
import type { Session } from './session.ts';

type ProfileOfSession = Pick<Session, 'profile' | 'profileFrom' | 'backend' | 'name'>;

/** sshd -T takes some ten milliseconds of CPU; a directory service may hang. */
const [atOnce, patienceMs] = [4, 5_000];

/** By session: a connection does not change its profile, and a program that waits looks again and again. */
const known = new Map<string, ProfileOfSession>();

/**
 * Adds profile, backend and pod to the sessions that are in no container of this host: what the configuration gives to this
 * user at this sshd now. Users have no influence on it, but it may have changed since they logged in.
 */
export async function withConfiguredProfiles(
  sessions: readonly Session[],
  settings: SshSettings,
): Promise<readonly Session[]> {
  return await mapConcurrent(sessions, atOnce, async (session) => {
    if (session.name !== undefined) return session;
    const found = known.get(session.id) ?? (await configuredProfile(session, settings));
    known.set(session.id, found);
    return { ...session, ...found };
  });
}

const unknown: ProfileOfSession = {
  ...{ profile: undefined, profileFrom: undefined, backend: undefined, name: undefined },
};

async function configuredProfile(
  session: Session,
  settings: SshSettings,
): Promise<ProfileOfSession> {
  const { id, user, uid, local } = session;
  const shell = userOfUid(uid)?.shell;
  const forced = await forcedCommand(session);
  if (shell === undefined || forced === undefined) return unknown;
  const isBerths = /(?:^|\/)login(?: |$)/.test(forced);
  if (!isBerths && !isLoginShell(shell)) return { ...unknown, backend: 'host' };
  const wanted = isBerths ? /\s--profile[= ](\S+)/.exec(forced)?.[1] : undefined;
  const choice = choiceFor(user, { settings, wanted, port: local?.port });
  if (choice === undefined || choice.kind === 'refuse') return unknown;
  if (choice.kind === 'host-shell') return { ...unknown, backend: 'host' };
  const { profile } = choice;
  const { backend } = profile;
  const name =
    backend === 'pod' ? podName({ profile, loginHost: hostname(), connection: id }) : undefined;
  return { profile: profile.name, profileFrom: 'configuration', backend, name };
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
async function forcedCommand({ user, peer, local, unit }: Session): Promise<string | undefined> {
  if (peer === undefined || local === undefined) return undefined;
  const kind = /^berth-sshd@(.+)\.service$/.exec(unit ?? '')?.[1];
  const config = kind === undefined ? '/etc/ssh/sshd_config' : `/etc/ssh/berth/${kind}.conf`;
  const ends = `laddr=${local.address},lport=${local.port}`;
  const connection = `user=${user},host=${peer.address},addr=${peer.address},${ends}`;
  const { error, stdout } = await runProgram(
    '/usr/sbin/sshd',
    ['-T', '-f', config, '-C', connection],
    { env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' }, timeout: patienceMs, cwd: '/' },
  );
  return error === undefined ? /^forcecommand (.*)$/m.exec(stdout)?.[1] : undefined;
}
