import { existsSync, readFileSync, writeSync } from 'node:fs';
import { basename } from 'node:path';
import type { OpenedSession } from '../../sessions/backends/backend.ts';
import { openInBackend } from '../../sessions/backends/open-in-backend.ts';
import { loadSshSettings } from '../../config/load/load-ssh-settings.ts';
import { runDir } from '../../config/schema/default-settings.ts';
import {
  chooseProfile,
  offeredProfiles,
  type ProfileChoice,
  type ProfileRequest,
} from '../../config/schema/profile/choose-profile.ts';
import type { SshSettings } from '../../config/schema/profile/profile.ts';
import { findRuntimeDir, runtimeDirOf } from '../../sessions/connections/runtime-dir.ts';
import {
  noteProfile,
  noteSession,
  type SessionNote,
} from '../../sessions/connections/session-notes.ts';
import { userConnectionsDir } from '../../sessions/connections/state-paths.ts';
import { BerthError } from '../../system/errors/berth-error.ts';
import type { ErrorCode } from '../../system/errors/error-codes.ts';
import { currentUser, type User } from '../../system/identity/nss.ts';
import type { Logger } from '../../log.ts';
import type { ProgramCall } from '../../system/program/program-call.ts';
import { isSelfService } from '../../sessions/request/self-service-command.ts';
import type { SessionHost } from '../../sessions/request/session-host.ts';
import {
  isLoginShell,
  serverPort,
  type SessionRequest,
} from '../../sessions/request/session-request.ts';
import { directoryNames } from '../../system/if-present.ts';
import { currentConnection } from '../../system/ssh-connection.ts';

export interface OpenSessionInput {
  readonly request: SessionRequest;
  /** Its ID is also in the message that the user sees. */
  readonly log: Logger;
  /** The environment that sshd set. */
  readonly env: Readonly<NodeJS.ProcessEnv>;
  /** Directory of the bundled file-transfer programs on the host. */
  readonly toolsDir: string;
  /** Path of the login program, as in passwd where it is the user's shell. */
  readonly itself: string;
  /** Answers a command that is for the login itself. @returns the exit code */
  readonly answer: (given: SelfServiceInput) => Promise<number>;
}

/** A command that is for the login itself, from a user who may have a session here. */
export interface SelfServiceInput {
  readonly command: string;
  readonly settings: SshSettings;
  readonly user: User;
  /** What the rules of ssh.yml are applied to. */
  readonly asked: ProfileRequest;
  readonly log: Logger;
}

/**
 * Decides what a connection gets and returns the program that replaces this process: the user's shell or the
 * client's command in their container. A command for the login itself is answered.
 *
 * @throws {BerthError} `session-refused`, the code of a broken profile, `nss-failed`, `group-names-missing`, the errors of `loadSshSettings`,
 *   `runtimeDirOf` and `openInBackend`
 */
export async function openSession(input: OpenSessionInput): Promise<OpenedSession> {
  const settings = await loadSshSettings({ configFile: input.request.configFile });
  const user = currentUser({ minimumUid: 1 });
  // Loaded only if the sshd of a job may have started this.
  const job =
    input.env.BERTH_JOB_DIRECTORY === undefined
      ? undefined
      : await import('../../sessions/backends/slurm/session-in-job.ts');
  const inJob = job?.sessionInJob(settings, user, input);
  const { request, env } = inJob ?? input;
  const asked = await profileRequest(settings, user, request, env);
  const choice = chooseProfile(settings, asked);
  const { command } = request;
  // In a job, the login on the login node has passed it on.
  if (inJob === undefined && isSelfService(command, settings.selfService)) {
    if (isAnswered(choice, settings, asked)) {
      const { log } = input;
      return { exitCode: await input.answer({ command, settings, user, asked, log }) };
    }
  }
  if (choice.kind === 'refuse') throw refused(choice);
  if (choice.kind === 'host-shell') {
    input.log.warning('a shell on the host instead of a session', { why: choice.reason });
    return hostShell(user, request, env);
  }
  const host = inJob?.host ?? sessionHost(settings, user, env);
  const note = (what: SessionNote): void => {
    // The login on the login node notes what is in a job.
    if (inJob === undefined && host.connection !== undefined)
      noteSession(host.runtimeDir, host.connection, what);
  };
  if (inJob === undefined && host.connection !== undefined)
    noteProfile(host.runtimeDir, host.connection, choice.profile);
  let hasBegun = false;
  const opened = await openInBackend({
    host,
    profile: (inJob && job?.profileInJob(choice.profile)) ?? choice.profile,
    request,
    env,
    toolsDir: input.toolsDir,
    log: input.log,
    onBeforeStart: () => {
      if (inJob !== undefined) return;
      // sshd shows it, but not with ForceCommand.
      const isForced = user.shell !== input.itself || request.isForced === true;
      if (request.kind === 'shell' && request.tty && isForced) showMessageOfTheDay(user.home);
    },
    onStarted: () => {
      const { name: profile, backend } = choice.profile;
      // A pod that was replaced begins twice.
      if (!hasBegun) note({ profile, backend, start_ms: Math.round(performance.now()) });
      hasBegun = true;
    },
  });
  if (opened !== 'host-shell' && 'exitCode' in opened) note({ exit: opened.exitCode });
  return opened === 'host-shell' ? hostShell(user, request, env) : opened;
}

/** What the rules of ssh.yml are applied to. Looks up group names only if a rule or a profile has `groups`. */
async function profileRequest(
  settings: SshSettings,
  user: User,
  { profile }: SessionRequest,
  { SSH_CONNECTION: connection, BERTH_PROFILE: requested }: OpenSessionInput['env'],
): Promise<ProfileRequest> {
  return {
    user: user.name,
    groups: namesGroups(settings) ? await groupNames() : [],
    wanted: profile,
    requested: requested === '' ? undefined : requested,
    port: serverPort(connection),
  };
}

/** Whether the login answers commands: also to who gets no session for this request, but could ask for another profile. */
function isAnswered(choice: ProfileChoice, settings: SshSettings, asked: ProfileRequest): boolean {
  if (choice.kind === 'profile') return choice.profile.selfService;
  return (
    choice.kind === 'refuse' &&
    offeredProfiles(settings, asked).some(({ selfService }) => selfService)
  );
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
  env: OpenSessionInput['env'],
): SessionHost {
  const runtimeDir = runtimeDirOf(user);
  const connection = currentConnection(userConnectionsDir({ run: runDir }, user.uid), user.uid);
  // A console or `su -` has no connection.
  const isSsh = env.SSH_CONNECTION !== undefined;
  if (isSsh && (connection === undefined || connection.endsWith('.closing')))
    // sshd's process waited, for example for xauth(1), while its connection was closed and cleaned up.
    throw new BerthError(
      'connection-closed',
      'the connection of this login was closed before the session started',
    );
  return { user, storage, podman, runtimeDir, connection };
}

function refused({ code, reason, error }: ProfileChoice & { kind: 'refuse' }): BerthError {
  if (code === 'profile-not-offered')
    return new BerthError(code, `no such session for you on this machine: ${reason}`, {
      forUser: true,
      hint: 'Ask for one of these with `ssh -o SetEnv=BERTH_PROFILE=NAME`, or for none.',
    });
  const isRule = code === 'profile-not-matched';
  const message = isRule
    ? 'no session is available for you on this machine'
    : 'the configuration of your session on this machine has a mistake';
  return new BerthError(isRule ? 'session-refused' : code, message, {
    hint: `As root, run \`berth plan --ssh --user NAME\` to see ${isRule ? 'which rules were tried' : 'the mistake'}.`,
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

/** The files that pam_motd(8) and sshd show. Scripts of the host create the first one. */
const messageFiles = ['/run/motd.dynamic', '/etc/motd'];
/** All files of it belong to the message. */
const messageDirectory = '/etc/motd.d';

/**
 * Shows the host's message of the day unless ~/.hushlogin exists. sshd does so itself, but not with a forced command.
 */
function showMessageOfTheDay(home: string): void {
  if (existsSync(`${home}/.hushlogin`)) return;
  const more = directoryNames(messageDirectory).toSorted();
  for (const file of [...messageFiles, ...more.map((name) => `${messageDirectory}/${name}`)]) {
    try {
      writeSync(1, readFileSync(file));
    } catch {
      // There is none, or the terminal is closed, which the session itself reports.
    }
  }
}

/** Notes for root why a session did not start, so that it is counted. */
export function noteFailedSession(env: OpenSessionInput['env'], code: ErrorCode): void {
  if (env.SSH_CONNECTION === undefined || env.BERTH_JOB_DIRECTORY !== undefined) return;
  const uid = process.getuid?.() ?? 0;
  const runtimeDir = findRuntimeDir({ uid });
  const connection = currentConnection(userConnectionsDir({ run: runDir }, uid), uid);
  if (runtimeDir !== undefined && connection !== undefined)
    noteSession(runtimeDir, connection, { code });
}
