import { setTimeout as sleep } from 'node:timers/promises';

interface WaitOptions {
  /** What is waited for; part of the error message. */
  readonly what: string;
  readonly timeoutMs: number;
  readonly everyMs?: number;
}

/**
 * Calls `attempt` until it returns a value other than undefined. An attempt that throws is repeated.
 *
 * @throws Error after `timeoutMs`, with the last error as its cause
 */
export async function waitFor<T>(
  { what, timeoutMs, everyMs = 100 }: WaitOptions,
  attempt: () => Promise<T | undefined>,
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  let cause: unknown;
  do {
    try {
      const result = await attempt();
      if (result !== undefined) return result;
    } catch (error) {
      cause = error;
    }
    await sleep(everyMs);
  } while (performance.now() < deadline);
  throw new Error(`waited ${timeoutMs / 1000} s for ${what}`, { cause });
}
