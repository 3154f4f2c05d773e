import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chooseProfile } from '../config/profile/choose-profile.ts';
import type { Profile, SshSettings } from '../config/profile/profile.ts';
import { type CheckResult, failed, type Finding, ok, skipped, warning } from '../check-result.ts';
import { asBerthError, BerthError } from '../errors.ts';
import type { User } from '../identity/user.ts';
import type { Logger } from '../log.ts';
import { pamSession } from '../ssh/pam/pam-session.ts';
import { assertRoot } from '../system/as-user.ts';
import { groupNamesOf } from '../system/group-names.ts';
import { userRuntimeService } from './user-runtime-service.ts';

export interface SessionTrial {
  /** Path of `berth`. */
  readonly program: string;
  /** Path of ssh.yml. */
  readonly configFile: string;
}

/** For what comes before and after the container. Milliseconds. */
const marginMs = 10_000;

/**
 * Starts one short session of a user as a login does: PAM's hook at open, the container of the user's profile with `true` in it,
 * and PAM's hook at close, which removes all of it. This process has the part of sshd: if it is killed, the reaper
 * finds a connection without sshd.
 *
 * @returns the check `session-start`
 */
export async function checkSessionStart(
  { program, configFile }: SessionTrial,
  settings: SshSettings,
  user: User,
): Promise<CheckResult> {
  const id = 'session-start';
  try {
    assertRoot();
    const choice = chooseProfile(settings, { user: user.name, groups: groupNamesOf(user.name) });
    if (choice.kind !== 'profile')
      return { id, ...skipped(`${user.name} gets no session without a port: ${choice.reason}`) };
    const { profile } = choice;
    if (profile.backend === 'pod')
      return { id, ...skipped(`profile ${profile.name} is for pods: log in to start one`) };
    return { id, ...(await tried({ program, configFile }, profile, user)) };
  } catch (thrown) {
    return { id, ...findingOf(asBerthError(thrown, 'starting a session'), user) };
  }
}

async function tried(trial: SessionTrial, profile: Profile, user: User): Promise<Finding> {
  const hook = pamHook(trial.configFile, user);
  const service = await userRuntimeService(user);
  const started = performance.now();
  let finding: Finding;
  try {
    await hook('open');
    await runAsUser(trial, profile, user);
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    finding = ok(`a session of ${user.name} with profile ${profile.name} ran in ${seconds} s`);
  } catch (thrown) {
    finding = findingOf(asBerthError(thrown, 'starting a session'), user);
  }
  try {
    await hook('close');
  } catch (thrown) {
    const { message, hint } = asBerthError(thrown, 'closing the session');
    if (finding.status === 'ok')
      finding = warning(`the session worked, but it was not removed: ${message}`, hint);
  } finally {
    await service?.stop();
  }
  return finding;
}

/** The hook's `session opened` is not for syslog: nobody logged in. */
function pamHook(configFile: string, user: User): (step: 'open' | 'close') => Promise<void> {
  return async (step) => {
    const errors: BerthError[] = [];
    const status = await pamSession({
      args: [step, '--config', configFile],
      env: { PAM_USER: user.name, PAM_SERVICE: 'sshd', PAM_TTY: 'doctor' },
      caller: process.pid,
      log: errorsOnly(errors),
      now: Date.now,
      onSlow: () => undefined,
    });
    const [error] = errors;
    if (error !== undefined && status !== 0) throw error;
  };
}

function errorsOnly(errors: BerthError[]): Logger {
  const log: Logger = {
    info: () => undefined,
    warning: () => undefined,
    error: (error) => void errors.push(error),
    with: () => log,
  };
  return log;
}

/** @throws {BerthError} what the session's process says; `session-trial-failed` */
async function runAsUser(
  { program, configFile }: SessionTrial,
  { name, deadlineMs }: Profile,
  { uid, gid }: User,
): Promise<void> {
  const identity = ['--reuid', String(uid), '--regid', String(gid), '--init-groups'];
  const words = [...identity, '--', program, '__try-session', configFile, name];
  const child = spawn('/usr/bin/setpriv', words, {
    ...{ cwd: '/', env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LANG: 'C.UTF-8' } },
    // A process group of its own, so that all of it can be killed.
    ...{ detached: true, stdio: ['ignore', 'pipe', 'pipe'] },
  });
  let [printed, said] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  // Up to the session, and the session itself.
  const limitMs = 2 * deadlineMs + marginMs;
  const timer = setTimeout(() => {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  }, limitMs);
  try {
    const [status, signal] = (await once(child, 'exit')) as [number | null, string | null];
    if (status === 0) return;
    throw sessionError(printed) ?? unknownError(signal ?? `status ${status ?? ''}`, said, limitMs);
  } finally {
    clearTimeout(timer);
    child.stdout.destroy();
    child.stderr.destroy();
  }
}

/** The user's process can print anything. */
function sessionError(printed: string): BerthError | undefined {
  try {
    const { code, message, hint, cause } = JSON.parse(printed) as Readonly<Record<string, string>>;
    if (message === undefined || hint === undefined) return undefined;
    const why = cause === undefined || message.includes(cause) ? '' : `: ${cause}`;
    return new BerthError(`${message}${why} [${String(code)}]`, {
      code: 'session-trial-failed',
      hint,
    });
  } catch {
    return undefined;
  }
}

function unknownError(how: string, said: string, limitMs: number): BerthError {
  const why = said.trim().slice(0, 500);
  return new BerthError(
    how === 'SIGKILL'
      ? `it did not end within ${limitMs / 1000} s`
      : `its process ended with ${how}${why === '' ? '' : `: ${why}`}`,
    {
      code: 'session-trial-failed',
      hint: 'Look for a hung file system (df, dmesg), and log in with ssh for the message that users see.',
    },
  );
}

function findingOf({ message, hint }: BerthError, { name }: User): Finding {
  return failed(`no session of ${name} can start: ${message}`, hint);
}
