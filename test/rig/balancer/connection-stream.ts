import { setTimeout as sleep } from 'node:timers/promises';
import type { NodesBehindBalancer } from './nodes-behind-balancer.ts';

/** A new connection: a command in a session of its own. */
export interface Connection {
  /** When it was started, in milliseconds since the stream's start. */
  readonly startedMs: number;
  readonly durationMs: number;
  readonly exitCode: number | undefined;
  /** The name of the login node, or an empty string if it failed. */
  readonly node: string;
  readonly stderr: string;
}

/**
 * Opens new connections at a steady rate, whatever becomes of the earlier ones, as the users of a site do.
 *
 * @param options.everyMs milliseconds between two starts
 * @param options.until ends the stream: gets the milliseconds since its start
 * @returns all connections, when the last one has ended
 */
export async function openSteadily(
  { front }: NodesBehindBalancer,
  user: string,
  options: {
    readonly everyMs: number;
    readonly until: (elapsedMs: number) => boolean;
    /** Further options of ssh(1). */
    readonly ssh?: readonly string[];
  },
): Promise<readonly Connection[]> {
  const start = performance.now();
  const all: Promise<Connection>[] = [];
  const open = async (): Promise<Connection> => {
    const began = performance.now();
    const { exitCode, stdout, stderr } = await front.ssh(user, [
      ...(options.ssh ?? []),
      'hostname',
    ]);
    return {
      startedMs: Math.round(began - start),
      durationMs: Math.round(performance.now() - began),
      ...{ exitCode, stderr },
      node: stdout.toString().trim(),
    };
  };
  for (let number = 1; !options.until(performance.now() - start); number += 1) {
    all.push(open());
    await sleep(Math.max(0, start + number * options.everyMs - performance.now()));
  }
  return Promise.all(all);
}
