import { spawn } from 'node:child_process';
import { BerthError } from '../../errors.ts';
import { podmanCall } from '../podman/argv/podman-argv.ts';
import type { SessionHost } from '../request/session-host.ts';

const longestAnswer = 64 * 1024;

/** RLIMIT_DATA: podman reads whatever the user has put in the place of its files, to the end. Bytes. */
const mostMemory = 512 * 1024 * 1024;

/** UIDs of whom podman hung in this process, which sees to one close or one reap: it would hang again. */
const hung = new Set<number>();

/**
 * Runs podman as the user, with the configuration that every session has: as root, on a store that the
 * user can write, it would be the user's tool. Its standard output is not asked for.
 *
 * @param timeoutMs Then podman and what it started are killed.
 * @throws `podman-failed`, `podman-timeout`
 */
export async function podmanAsUser(
  host: SessionHost,
  words: readonly string[],
  timeoutMs: number,
): Promise<void> {
  const what = `podman ${words[0] ?? ''} for ${host.user.name}`;
  if (hung.has(host.user.uid))
    throw tooLate(`${what} was skipped: an earlier podman of this user timed out`);
  const { file, args, env } = podmanCall(host, words);
  const { uid, gid } = host.user;
  const bounded = [`--data=${mostMemory}`, '--core=0', '--', file, ...args.slice(1)];
  // libuv gives up root's groups with the UID. A group of its own, so that all of it can be killed.
  const child = spawn('/usr/bin/prlimit', bounded, {
    ...{ cwd: '/', env, uid, gid, detached: true },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (said.length < longestAnswer) said += text;
  });
  const late = new AbortController();
  const timer = setTimeout(() => {
    late.abort();
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
  }, timeoutMs);
  const result = await new Promise<Error | number>((resolve) => {
    child.once('error', resolve);
    // Not `close`: a conmon that is left may hold the pipe.
    child.once('exit', (code) => resolve(code ?? -1));
  });
  clearTimeout(timer);
  child.stderr.destroy();
  if (result === 0) return;
  if (late.signal.aborted) {
    hung.add(uid);
    throw tooLate(`${what} took more than ${timeoutMs} ms`);
  }
  const reason = said.trim() || (result instanceof Error ? result.message : `exit code ${result}`);
  throw new BerthError(`${what}: ${reason}`, {
    code: 'podman-failed',
    exit: 'temporary',
    hint: 'The reaper tries again; is the disk or the quota full?',
    ...(result instanceof Error ? { cause: result } : {}),
  });
}

function tooLate(message: string): BerthError {
  return new BerthError(message, {
    code: 'podman-timeout',
    exit: 'temporary',
    hint: '`berth reap` tries again. Check that the storage of the user does not hang (df, dmesg).',
  });
}
