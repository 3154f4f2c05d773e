import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Readable } from 'node:stream';
import { hungProcess, noteHung } from './hung-processes.ts';
import { type ProcessUser, startApart } from './start-apart.ts';

export interface BoundedRun {
  /** Exit status, or the name of the signal that ended it; `late` if it did not end in time, `hung` if it was not started. */
  readonly ended: number | string;
  /** PID of an earlier process, if it was not started because of that (`note`). */
  readonly hung?: number;
  /** The first characters of what it printed. */
  readonly stdout: string;
  readonly stderr: string;
}

/** How long runuser(1) gets to end its child, which may be in another process group. Milliseconds. */
const usualGraceMs = 3_000;

/** How long the end of a killed process is waited for. Milliseconds. */
const afterKillMs = 1_000;

export interface BoundedOptions {
  /** The whole environment. */
  readonly env: NodeJS.ProcessEnv;
  /** Milliseconds. After this it gets SIGTERM, and then its process group SIGKILL. */
  readonly timeoutMs: number;
  /** How long after SIGTERM. 0: it gets only SIGKILL. Milliseconds. */
  readonly graceMs?: number;
  /** Where root notes that it has survived SIGKILL (`noteHung`). While it lives, no other one is started. */
  readonly note?: string | undefined;
  /** Whose process it is; default: the real UID and GID of this process, also within `asUser`. */
  readonly user?: ProcessUser;
  /** Its standard input; default: none. */
  readonly input?: string;
  /** Its output is of interest only if it fails: then nobody waits for a child of its own that holds the output open. */
  readonly failureOutput?: boolean;
  /** How much of each output is kept, in characters; the rest is read and dropped. */
  readonly keptLength?: number;
}

/**
 * Runs a program that works on what a user can write (`startApart`). It returns in time, whatever the user does: a process may hang in a system call, print
 * without end, or be traced, so that its parent never hears of its end.
 *
 * @throws system errors of spawn
 */
export async function runBounded(
  file: string,
  args: readonly string[],
  { env, timeoutMs, user, input, ...options }: BoundedOptions,
): Promise<BoundedRun> {
  const { graceMs = usualGraceMs, note, failureOutput = false, keptLength = 16_384 } = options;
  const hung = note === undefined ? undefined : hungProcess(note);
  if (hung !== undefined) return { ended: 'hung', hung, stdout: '', stderr: '' };
  const stdio = [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'] as const;
  const { child, endScope } = startApart(file, args, { env, user, stdio });
  // It may end before it has read its input.
  child.stdin?.on('error', () => undefined).end(input);
  const [stdout, stderr] = [startOf(child.stdout, keptLength), startOf(child.stderr, keptLength)];
  const exit = once(child, 'exit') as Promise<[status: number | null, signal: string | null]>;
  const within = async (milliseconds: number): Promise<number | string | undefined> => {
    const late = sleep(milliseconds, [], { ref: false });
    const [status, signal] = await Promise.race([exit, late]);
    return status ?? signal ?? undefined;
  };
  const closed = once(child, 'close').catch(() => undefined);
  const ended = await within(timeoutMs);
  if (ended === undefined) {
    if (graceMs > 0) child.kill('SIGTERM');
    if ((await within(graceMs)) === undefined && child.pid !== undefined) {
      process.kill(-child.pid, 'SIGKILL');
      await within(afterKillMs);
      if (note !== undefined) noteHung(note, child.pid);
    }
    child.unref();
  } else if (!failureOutput || ended !== 0) {
    // The rest of its output, which a child of its own may hold open.
    await Promise.race([closed, sleep(afterKillMs, undefined, { ref: false })]);
  }
  endScope();
  child.stdout.destroy();
  child.stderr.destroy();
  return { ended: ended ?? 'late', stdout: stdout(), stderr: stderr() };
}

function startOf(stream: Readable, keptLength: number): () => string {
  const parts: string[] = [];
  let left = keptLength;
  stream.setEncoding('utf8').on('data', (more: string) => {
    if (left > 0) parts.push(more.slice(0, left));
    left -= more.length;
  });
  return () => parts.join('');
}
