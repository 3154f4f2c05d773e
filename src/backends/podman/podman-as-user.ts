import type { ChildProcessByStdio } from 'node:child_process';
import type { Readable } from 'node:stream';
import { runDir } from '../../config/schema/default-settings.ts';
import { BerthError } from '../../errors/berth-error.ts';
import { podmanCommand } from './argv/podman-argv.ts';
import { brokenStores } from './podman-start-errors.ts';
import { withRepairedStore, type PodmanOfUser } from './repair-store.ts';
import { asUserThenRoot } from '../../system/as-user.ts';
import { hungProcess, noteHung } from '../../system/hung-processes.ts';
import { startApart } from '../../system/start-apart.ts';
import type { SessionHost } from '../../session/session-host.ts';

const longestAnswer = 64 * 1024;

/** RLIMIT_DATA: users can replace files that podman reads whole. Bytes. */
const mostMemory = 512 * 1024 * 1024;

/** How long to wait for a login that repairs the store of its user. Milliseconds. */
const lockMs = 2_000;

/** How long the end of a killed podman is waited for. Milliseconds. */
const afterKillMs = 1_000;

/** UIDs for which podman timed out in this process: it would time out again. */
const hung = new Set<number>();

/**
 * Runs podman as the user with the configuration of their sessions, and discards its standard output. Podman
 * must not run as root on a store that the user can write: the user could make root run programs.
 *
 * A broken store is repaired first.
 *
 * @param timeoutMs After this, podman and its children are killed.
 * @throws {BerthError} `podman-failed`, `podman-timeout`; `lock-timeout`, `container-database-mismatch` and
 *   `container-processes-killed` if a broken store was not repaired
 */
export async function podmanAsUser(
  host: SessionHost,
  args: readonly string[],
  timeoutMs: number,
): Promise<void> {
  const user: PodmanOfUser = {
    podman: (words) => runPodman(host, words, timeoutMs),
    asOwner: (work) => asUserThenRoot(host.user, work),
    waitMs: lockMs,
  };
  await withRepairedStore(host, user, () => runPodman(host, args, timeoutMs));
}

async function runPodman(
  host: SessionHost,
  args: readonly string[],
  timeoutMs: number,
): Promise<void> {
  const what = `podman ${args[0] ?? ''} for ${host.user.name}`;
  const { uid, gid } = host.user;
  const note = `${runDir}/hung/podman-${uid}`;
  const earlier = isRoot() ? hungProcess(note) : undefined;
  if (earlier !== undefined)
    throw tooLate(`${what} was skipped: an earlier one, process ${earlier}, survives SIGKILL`);
  if (hung.has(uid)) throw tooLate(`${what} was skipped: an earlier podman of this user timed out`);
  const call = podmanCommand(host, args);
  const bounded = [`--data=${mostMemory}`, '--core=0', '--', call.file, ...call.args.slice(1)];
  const child = startApart('/usr/bin/prlimit', bounded, {
    env: { ...call.env },
    user: { uid, gid },
    stdio: ['ignore', 'ignore', 'pipe'],
  }) as ChildProcessByStdio<null, null, Readable>;
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (output.length < longestAnswer) output += text;
  });
  const late = new AbortController();
  const timer = setTimeout(() => {
    late.abort();
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
  }, timeoutMs);
  const result = await new Promise<Error | number>((resolve) => {
    child.once('error', resolve);
    // Not `close`: a conmon that keeps running may hold the pipe.
    child.once('exit', (code) => resolve(code ?? -1));
    // The end of a process that its user traces is never reported.
    late.signal.addEventListener('abort', () => setTimeout(() => resolve(-1), afterKillMs));
  });
  child.unref();
  clearTimeout(timer);
  child.stderr.destroy();
  if (result === 0) return;
  if (late.signal.aborted) {
    hung.add(uid);
    if (isRoot() && child.pid !== undefined) noteHung(note, child.pid);
    throw tooLate(`${what} took more than ${timeoutMs} ms`);
  }
  const reason =
    output.trim() || (result instanceof Error ? result.message : `exit code ${result}`);
  throw new BerthError(`${what}: ${reason}`, {
    code: brokenStores.find(({ pattern }) => pattern.test(output))?.code ?? 'podman-failed',
    exit: 'temporary',
    ...(result instanceof Error ? { cause: result } : {}),
  });
}

function isRoot(): boolean {
  return process.geteuid?.() === 0;
}

function tooLate(message: string): BerthError {
  return new BerthError(message, { code: 'podman-timeout' });
}
