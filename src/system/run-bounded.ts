import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Readable } from 'node:stream';

export interface BoundedRun {
  /** Exit status, or the name of the signal that ended it; `late` if it did not end in time. */
  readonly ended: number | string;
  /** The first characters of what it printed. */
  readonly stdout: string;
  readonly stderr: string;
}

/** How much of each output is kept, in characters; the rest is read and dropped. */
const keptLength = 16_384;

/** How long runuser(1) gets to end its child, which may be in another process group. Milliseconds. */
const graceMs = 3_000;

/** How long the end of a killed process is waited for. Milliseconds. */
const afterKillMs = 1_000;

/**
 * Runs a program that works on what a user can write, in a process group of its own, without standard input. It returns in
 * time, whatever the user does: a process may hang in a system call, print without end, or be traced, so that its
 * parent never hears of its end.
 *
 * @param options.env the whole environment
 * @param options.limitMs milliseconds. After this it gets SIGTERM, and then its process group SIGKILL
 * @throws system errors of spawn
 */
export async function runBounded(
  file: string,
  args: readonly string[],
  { env, limitMs }: { readonly env: NodeJS.ProcessEnv; readonly limitMs: number },
): Promise<BoundedRun> {
  const child = spawn(file, args, {
    ...{ cwd: '/', env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] },
  });
  const [stdout, stderr] = [startOf(child.stdout), startOf(child.stderr)];
  const exit = once(child, 'exit') as Promise<[status: number | null, signal: string | null]>;
  const within = async (milliseconds: number): Promise<number | string | undefined> => {
    const timer = new AbortController();
    try {
      const late = sleep(milliseconds, undefined, { signal: timer.signal });
      const [status, signal] = (await Promise.race([exit, late])) ?? [];
      return status ?? signal ?? undefined;
    } finally {
      timer.abort();
    }
  };
  const ended = await within(limitMs);
  if (ended === undefined) {
    child.kill('SIGTERM');
    if ((await within(graceMs)) === undefined && child.pid !== undefined) {
      process.kill(-child.pid, 'SIGKILL');
      await within(afterKillMs);
    }
    child.unref();
  }
  child.stdout.destroy();
  child.stderr.destroy();
  return { ended: ended ?? 'late', stdout: stdout(), stderr: stderr() };
}

function startOf(stream: Readable): () => string {
  let text = '';
  stream.setEncoding('utf8').on('data', (more: string) => {
    if (text.length < keptLength) text = (text + more).slice(0, keptLength);
  });
  return () => text;
}
