import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from '../measure.ts';

/** One login of a crowd. */
export interface CrowdLogin {
  /** From when it was due until it ended. Milliseconds. */
  readonly ms: number;
  readonly exitCode: number | null;
}

export interface Crowd {
  readonly logins: readonly CrowdLogin[];
  /** Most logins at the same time. */
  readonly widest: number;
}

/**
 * Begins work for each item at even intervals, whether or not the earlier work has ended.
 *
 * @param durationMs from the first until one interval after the last
 * @param work gets when it was due, as of `performance.now()`
 */
export async function atEvenIntervals<Item, Result>(
  items: readonly Item[],
  durationMs: number,
  work: (item: Item, due: number) => Promise<Result>,
): Promise<Result[]> {
  const began = performance.now();
  return Promise.all(
    items.map(async (item, index) => {
      const due = began + (index * durationMs) / items.length;
      await sleep(Math.max(0, due - performance.now()));
      return work(item, due);
    }),
  );
}

/**
 * Starts commands at a fixed rate, whether or not the earlier ones have ended, as users do.
 *
 * @param rate logins a second
 */
export async function loginsAtRate(rate: number, commands: readonly Command[]): Promise<Crowd> {
  let open = 0;
  let widest = 0;
  const one = async ({ file, args, env }: Command, due: number): Promise<CrowdLogin> => {
    widest = Math.max(widest, (open += 1));
    const child = spawn(file, args, { env, cwd: '/', stdio: 'ignore' });
    const [exitCode] = (await once(child, 'exit')) as [number | null];
    open -= 1;
    return { ms: performance.now() - due, exitCode };
  };
  const logins = await atEvenIntervals(commands, (commands.length * 1000) / rate, one);
  return { logins, widest };
}

/** @param part for example 0.99 */
export function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}
