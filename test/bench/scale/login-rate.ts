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
 * Starts commands at a fixed rate, whether or not the earlier ones have ended, as users do.
 *
 * @param rate logins a second
 */
export async function loginsAtRate(rate: number, commands: readonly Command[]): Promise<Crowd> {
  const began = performance.now();
  let open = 0;
  let widest = 0;
  const one = async ({ file, args, env }: Command, index: number): Promise<CrowdLogin> => {
    const due = began + (index * 1000) / rate;
    await sleep(Math.max(0, due - performance.now()));
    widest = Math.max(widest, (open += 1));
    const child = spawn(file, args, { env, cwd: '/', stdio: 'ignore' });
    const [exitCode] = (await once(child, 'exit')) as [number | null];
    open -= 1;
    return { ms: performance.now() - due, exitCode };
  };
  return { logins: await Promise.all(commands.map(one)), widest };
}

/** @param part for example 0.99 */
export function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}
