import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import type { Profile } from '../config/profile/profile.ts';
import { BerthError } from '../errors.ts';
import type { User } from '../identity/user.ts';
import { escapeControl } from '../log.ts';

/** What `berth __test-session`, which runs as the user, prints if the session failed: one line of JSON. */
export interface TestSessionFailure {
  readonly code: string;
  readonly message: string;
  readonly hint: string;
  readonly cause?: string | undefined;
}

/** For what comes before and after the container. Milliseconds. */
const marginMs = 10_000;

/** How much of the output is kept, in characters. The process is the user's, and can print anything. */
const keptLength = 16_384;

/** How much of a text of the user's process is shown, in characters. */
const shownLength = 500;

/**
 * Runs `berth __test-session` as the user.
 *
 * @param program path of `berth`
 * @param configFile path of ssh.yml
 * @throws {BerthError} `test-session-failed`
 */
export async function runTestSessionProcess(
  { program, configFile }: { readonly program: string; readonly configFile: string },
  { name, deadlineMs }: Profile,
  { uid, gid }: User,
): Promise<void> {
  const identity = ['--reuid', String(uid), '--regid', String(gid), '--init-groups'];
  const words = [...identity, '--', program, '__test-session', configFile, name];
  const child = spawn('/usr/bin/setpriv', words, {
    ...{ cwd: '/', env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LANG: 'C.UTF-8' } },
    // A process group of its own, so that all of it can be killed.
    ...{ detached: true, stdio: ['ignore', 'pipe', 'pipe'] },
  });
  const output = startOf(child.stdout);
  const errors = startOf(child.stderr);
  // Up to the session, and the session itself.
  const limitMs = 2 * deadlineMs + marginMs;
  const limit = AbortSignal.timeout(limitMs);
  const kill = (): void => {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  };
  limit.addEventListener('abort', kill);
  try {
    const [status, signal] = (await once(child, 'exit')) as [number | null, string | null];
    if (status === 0) return;
    if (limit.aborted) throw lateError(`no answer within ${limitMs / 1000} s`);
    throw failureIn(output()) ?? unknownError(signal ?? `status ${status ?? ''}`, errors());
  } finally {
    limit.removeEventListener('abort', kill);
    child.stdout.destroy();
    child.stderr.destroy();
  }
}

/** The first characters of a stream; the rest is read and dropped. */
function startOf(stream: Readable): () => string {
  let text = '';
  stream.setEncoding('utf8').on('data', (more: string) => {
    text = (text + more).slice(0, keptLength);
  });
  return () => text;
}

function failureIn(output: string): BerthError | undefined {
  let failure: Readonly<Record<string, unknown>>;
  try {
    failure = JSON.parse(output) as typeof failure;
  } catch {
    return undefined;
  }
  const [code, message, hint, cause] = ['code', 'message', 'hint', 'cause'].map((key) => {
    const value = failure[key];
    return typeof value === 'string' ? escapeControl(value).slice(0, shownLength) : undefined;
  });
  if (code === undefined || message === undefined || hint === undefined) return undefined;
  const why = cause === undefined || message.includes(cause) ? '' : `: ${cause}`;
  return new BerthError(`${message}${why} [${code}]`, { code: 'test-session-failed', hint });
}

/** @param what what came back, as the end of a sentence */
function lateError(what: string): BerthError {
  return new BerthError(what, {
    code: 'test-session-failed',
    hint: 'Look for processes that wait for a file system: `findmnt -t nfs,nfs4,lustre`, `dmesg`, and `ps -eo pid,stat,user,wchan:20,args` for those in state D.',
  });
}

function unknownError(how: string, errors: string): BerthError {
  const why = escapeControl(errors.trim()).slice(0, shownLength);
  return new BerthError(`its process ended with ${how}${why === '' ? '' : `: ${why}`}`, {
    code: 'test-session-failed',
    hint: 'Log in with ssh as this user, and read the log of that login: `journalctl -t berth`.',
  });
}
