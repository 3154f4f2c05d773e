import { hostname } from 'node:os';
import { basename } from 'node:path';
import { runDir } from '../../config/schema/default-settings.ts';
import { chooseProfile, type ProfileChoice } from '../../config/schema/profile/choose-profile.ts';
import type { Profile, SshSettings } from '../../config/schema/profile/profile.ts';
import { BerthError } from '../../errors/berth-error.ts';
import type { Logger } from '../../log.ts';
import { currentUser } from '../../identity/nss.ts';
import type { User } from '../../identity/nss.ts';
import { isLoginShell } from '../../session/login-shell.ts';
import { containerName } from '../../backends/podman/argv/podman-run.ts';
import { containerSession, sessionCommand } from '../../backends/podman/argv/session-command.ts';
import type { ProgramCall } from '../../program-call.ts';
import type { SessionHost } from '../../session/session-host.ts';
import type { SessionRequest } from '../../session/session-request.ts';
import { showMessageOfTheDay } from '../../system/message-of-the-day.ts';
import { isTerminal } from '../../system/terminal.ts';
import type { TerminalSize } from '../../system/terminal.ts';
import { currentConnection } from '../../system/ssh-connection.ts';
import { loadSshSettings } from '../../config/load/load-ssh-settings.ts';
import type { startWithFallback as StartByPolicy } from '../../backends/podman/start-with-fallback.ts';
import { startFilePath, writeStartFile } from '../../backends/podman/exec-handoff-file.ts';
import { runtimeDirOf } from '../../connections/runtime-dir.ts';
import { userConnectionsDir } from '../../connections/state-paths.ts';
import type { StartContainerInput } from '../../backends/podman/start-container.ts';
import { runningContainer } from '../../backends/podman/running-container.ts';

export interface OpenSessionInput {
  readonly request: SessionRequest;
  /** Its ID is also in the message that the user sees. */
  readonly log: Logger;
  /** The environment that sshd set. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Directory of the bundled file-transfer programs on the host. */
  readonly toolsDir: string;
  /** Path of the login program, as in passwd where it is the user's shell. */
  readonly itself: string;
}

/** The program that replaces this process, or the exit code of a session that this process served itself. */
export type OpenedSession = ProgramCall | { readonly exitCode: number };

/**
 * Decides what a connection gets and returns the program that replaces this process: the user's shell or the
 * client's command in their container. If the container is already running, this reads a few small files and
 * starts no process.
 *
 * @throws {BerthError} `session-refused`, the code of a broken profile, `nss-failed`, `group-names-missing`, the errors of `loadSshSettings`
 *   and `startContainer`
 */
export async function openSession(input: OpenSessionInput): Promise<OpenedSession> {
  const { request, env } = input;
  const settings = await loadSshSettings(
    request.configFile === undefined ? {} : { configFile: request.configFile },
  );
  const user = currentUser({ minimumUid: 1 });
  const choice = await choose(settings, user, request, env);
  if (choice.kind === 'refuse') throw refused(choice);
  if (choice.kind === 'host-shell') {
    input.log.warning('a shell on the host instead of a session', { why: choice.reason });
    return hostShell(user, request, env);
  }
  const { profile } = choice;
  if (profile.backend === 'pod') return podSession(input, settings, user, profile);
  const host = sessionHost(settings, user, runtimeDirOf(user), env);
  const name = containerName(profile, host.connection);
  const warm = runningContainer(host, name);
  const container =
    warm ?? (await startAnew({ host, profile, name, toolsDir: input.toolsDir }, input.log));
  if (container === 'host-shell') return hostShell(user, request, env);
  if (isForcedLogin(request, user, input.itself)) showMessageOfTheDay(user.home);
  await noteAndTell(user, profile, {
    ...{ isNew: warm === undefined, isInteractive: isShell(request) },
    port: serverPort(env.SSH_CONNECTION),
  });
  // The session gets the previous umask through its argv; the OCI runtime sets one of its own.
  const umask = process.umask(0o022);
  const session = {
    ...containerSession(host, container, { request, profile, env, umask }),
    ...(request.tty &&
      container.terminalRelay === 'runtime' && { terminalSize: await sizeOfTerminal() }),
  };
  const call = sessionCommand(host, container, session, startFilePath(host, process.pid));
  writeStartFile(call.given);
  return call;
}

/** Imported only for sessions with a terminal; podman, as its relay, has no option for the size. */
async function sizeOfTerminal(): Promise<TerminalSize | undefined> {
  const { terminalSize } = await import('../../system/terminal.ts');
  return terminalSize();
}

/** Imported only for pods: loading TLS takes as long as the rest of a login. */
async function podSession(
  { request, env, itself, log, toolsDir }: OpenSessionInput,
  settings: SshSettings,
  user: User,
  profile: Profile,
): Promise<OpenedSession> {
  const { openPodSession } = await import('../../backends/pod/open-pod-session.ts');
  // A pod session keeps nothing on this host.
  const host = sessionHost(settings, user, '', env);
  if (isForcedLogin(request, user, itself)) showMessageOfTheDay(user.home);
  const umask = process.umask(0o022);
  const pod = { host, profile, request, env, umask, log, toolsDir };
  return { exitCode: await openPodSession(pod) };
}

/** Whether this is an interactive login for which sshd prints no message of the day, because of ForceCommand. */
function isForcedLogin(request: SessionRequest, { shell }: User, itself: string): boolean {
  return isShell(request) && shell !== itself;
}

/** Whether this is an interactive login. */
function isShell({ kind, tty }: SessionRequest): boolean {
  return kind === 'shell' && tty;
}

/** Lets the user find a container on another login node. Does nothing for a command in a running container. */
async function noteAndTell(
  user: User,
  profile: Profile,
  login: {
    readonly isNew: boolean;
    readonly isInteractive: boolean;
    readonly port: number | undefined;
  },
): Promise<void> {
  const { isNew, isInteractive, port } = login;
  if (profile.lifetime.kind === 'connection' || !(isNew || isInteractive)) return;
  const { tellOtherContainers, writeContainerNote } =
    await import('../../backends/podman/container-notes.ts');
  const here = { host: hostname(), profile: profile.name };
  if (isNew)
    writeContainerNote(user, {
      ...here,
      since: Date.now(),
      port,
    });
  if (isInteractive && isTerminal(2)) tellOtherContainers(user, here, Date.now());
}

/** Imported only if no container is running: what starts one takes longer to load than everything above. */
async function startAnew(
  input: StartContainerInput,
  log: Logger,
): ReturnType<typeof StartByPolicy> {
  const { startWithFallback } = await import('../../backends/podman/start-with-fallback.ts');
  return startWithFallback(input, log);
}

/** Applies the rules of ssh.yml. Looks up group names only if a rule or a profile has `groups`. */
async function choose(
  settings: SshSettings,
  user: User,
  { profile }: SessionRequest,
  { SSH_CONNECTION: connection }: OpenSessionInput['env'],
): Promise<ProfileChoice> {
  return chooseProfile(settings, {
    user: user.name,
    groups: namesGroups(settings) ? await groupNames() : [],
    wanted: profile,
    port: serverPort(connection),
  });
}

/** sshd's own port, the last word of SSH_CONNECTION. */
function serverPort(connection: string | undefined): number | undefined {
  const port = Number(connection?.split(' ')[3]);
  return Number.isInteger(port) ? port : undefined;
}

function namesGroups({ rules, profiles, broken, hostShellGroups }: SshSettings): boolean {
  const all = [...profiles.values(), ...broken.values()];
  const profilesWithGroups = all.some(({ groups }) => groups !== undefined);
  return (
    profilesWithGroups ||
    hostShellGroups.length > 0 ||
    rules.some(({ groups }) => groups !== undefined)
  );
}

async function groupNames(): Promise<string[]> {
  const { groupNamesOf } = await import('../../system/group-names.ts');
  return groupNamesOf();
}

function sessionHost(
  { storage, podman }: SshSettings,
  user: User,
  runtimeDir: string,
  env: OpenSessionInput['env'],
): SessionHost {
  const connection = currentConnection(userConnectionsDir({ run: runDir }, user.uid), user.uid);
  // A console or `su -` has no connection.
  const isSsh = env.SSH_CONNECTION !== undefined;
  if (isSsh && (connection === undefined || connection.endsWith('.closing')))
    throw connectionClosed();
  return {
    user,
    storage,
    podman,
    runtimeDir,
    connection,
  };
}

/** sshd's process for a session waited, for example for xauth(1), while its connection was closed and cleaned up. */
function connectionClosed(): BerthError {
  return new BerthError('the connection of this login was closed before the session started', {
    code: 'connection-closed',
  });
}

function refused({ code, reason, error }: ProfileChoice & { kind: 'refuse' }): BerthError {
  const isRule = code === 'profile-not-matched';
  const message = isRule
    ? 'no session is available for you on this machine'
    : 'the configuration of your session on this machine has a mistake';
  return new BerthError(message, {
    code: isRule ? 'session-refused' : code,
    hint: 'As root, run `berth plan --ssh --user NAME` to see which rules were tried.',
    fields: { why: code, reason },
    cause: error ?? new Error(reason),
  });
}

/** The user's own shell on the host, started as sshd would start it. */
function hostShell(
  { shell, home, uid }: User,
  { command }: SessionRequest,
  env: OpenSessionInput['env'],
): ProgramCall {
  const file = shell === '' || isLoginShell(shell) ? '/bin/bash' : shell;
  const kept = Object.entries(env).filter((one): one is [string, string] => one[1] !== undefined);
  return {
    file,
    args: command === undefined ? [`-${basename(file)}`] : [basename(file), '-c', command],
    env: {
      ...Object.fromEntries(kept),
      SHELL: file,
      HOME: home,
      XDG_RUNTIME_DIR: `/run/user/${uid}`,
    },
  };
}
