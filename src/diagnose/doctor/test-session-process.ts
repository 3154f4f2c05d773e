import type { Profile } from '../../config/schema/profile/profile.ts';
import { catalogue } from '../../system/errors/catalogue.ts';
import { BerthError } from '../../system/errors/berth-error.ts';
import type { User } from '../../system/identity/nss.ts';
import { installedPath } from '../../system/program/installed-path.ts';
import { escapedForTerminal } from '../../log.ts';
import { type Mapping, mappingOrEmpty } from '../../system/text/mapping.ts';
import { ownProcessId } from '../../system/process-start.ts';
import { runBounded } from '../../system/run-bounded.ts';
import { whereLogged } from '../../system/syslog.ts';

/** What `berth __test-session`, which runs as the user, prints if the session failed: one line of JSON. */
export interface TestSessionFailure {
  readonly code: string;
  readonly message: string;
  readonly cause?: string | undefined;
}

export interface TestSession {
  /** Path of `berth`. */
  readonly program: string;
  /** Path of ssh.yml. */
  readonly configFile: string;
}

/** For what comes before and after the container. Milliseconds. */
const marginMs = 10_000;

/** Longer than the hook's own limits. Milliseconds. */
const hookMs = 60_000;

/** How much of a text of the user's process is shown, in characters: podman says the cause last. */
const shownLength = 3_000;

/** How much of what the session printed at last is shown besides. Characters. */
const saidLength = 1_000;

const path = '/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * Runs PAM's hook as sshd does, with this process in the part of sshd.
 *
 * @throws {BerthError} `test-session-failed`
 */
export async function runPamHook(
  step: 'open' | 'close',
  { configFile }: TestSession,
  { name }: User,
): Promise<void> {
  const { ended } = await runBounded(
    installedPath('hooks/pam-session'),
    [step, '--config', configFile],
    {
      env: { PATH: path, PAM_USER: name, PAM_SERVICE: 'sshd', PAM_TTY: 'berth-doctor' },
      timeoutMs: hookMs,
    },
  );
  if (ended === 0) return;
  throw new BerthError('test-session-failed', `pam-session ${step} ${endText(ended, hookMs)}`, {
    hint: `Its error is in syslog: ${whereLogged}.`,
  });
}

/**
 * Runs `berth __test-session` as the user, with the limits of runuser(1)'s PAM stack and without root's keyring.
 *
 * The user can make that process do and print anything. What it says is shown as its words, and the next step
 * is Berth's own for the error's code.
 *
 * @throws {BerthError} `test-session-failed`
 */
export async function runTestSessionProcess(
  { program, configFile }: TestSession,
  profile: Profile,
  { name }: User,
): Promise<void> {
  const asked = [configFile, profile.name, profile.backend, ownProcessId()];
  const words = ['-u', name, '--', program, '__test-session', ...asked];
  // Up to the session, and the session itself.
  const timeoutMs = 2 * profile.deadlineMs + marginMs;
  const env = { PATH: path, LANG: 'C.UTF-8' };
  const { ended, stdout, stderr } = await runBounded('/usr/sbin/runuser', words, {
    env,
    timeoutMs,
  });
  if (ended === 0) return;
  if (ended === 'late')
    throw new BerthError(
      'test-session-failed',
      `its process gave no answer within ${timeoutMs / 1000} s`,
      {
        hint: 'Look for processes that wait for a file system: `findmnt -t nfs,nfs4,lustre`, `dmesg`, and `ps -eo pid,stat,user,wchan:20,args` for those in state D.',
      },
    );
  throw failureIn(stdout, stderr) ?? unknownError(endText(ended, timeoutMs), stderr);
}

function endText(ended: number | string, timeoutMs: number): string {
  if (ended === 'late') return `took more than ${timeoutMs / 1000} s`;
  return `ended with ${typeof ended === 'number' ? `status ${ended}` : ended}`;
}

function failureIn(output: string, errors: string): BerthError | undefined {
  let failure: Mapping;
  try {
    failure = mappingOrEmpty(JSON.parse(output));
  } catch {
    return undefined;
  }
  const [code, message, cause] = ['code', 'message', 'cause'].map((key) => {
    const value = failure[key];
    return typeof value === 'string' ? shown(value) : undefined;
  });
  const known = catalogue.flatMap(({ entries }) => entries).find((one) => one.code === code);
  if (known === undefined || message === undefined) return undefined;
  const why = cause === undefined || message.includes(cause) ? '' : `: ${cause}`;
  // What a session in a job, whose login is another process on another host, says itself.
  const said = shown(errors.trim().slice(-saidLength));
  return new BerthError(
    'test-session-failed',
    `${message}${why} [${known.code}]${said === '' ? '' : `: ${said}`}`,
    {
      hint: `${known.next} For more: berth explain ${known.code}`,
    },
  );
}

function unknownError(end: string, errors: string): BerthError {
  const why = shown(errors.trim());
  return new BerthError(
    'test-session-failed',
    `its process ${end}${why === '' ? '' : `: ${why}`}`,
    {
      hint: `Log in with ssh as this user, and read the log of that login: ${whereLogged}.`,
    },
  );
}

/** The report escapes the text again, which changes nothing then. */
function shown(text: string): string {
  return escapedForTerminal(text).slice(0, shownLength);
}
