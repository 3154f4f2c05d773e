import { setTimeout as sleep } from 'node:timers/promises';

export interface WaitOptions {
  /** What is waited for; part of the error message. */
  readonly what: string;
  readonly timeoutMs: number;
  readonly everyMs?: number;
  /** Called between attempts; throws if waiting is pointless, for example because a process exited. */
  readonly alive?: () => Promise<void>;
}

/**
 * Calls `attempt` until it returns a value other than undefined. An attempt that throws is repeated; the last
 * error becomes the cause of the timeout error.
 *
 * @throws Error after `timeoutMs`, or the error of `alive`
 */
export async function waitFor<T>(
  { what, timeoutMs, everyMs = 100, alive }: WaitOptions,
  attempt: () => Promise<T | undefined>,
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  let reason: unknown;
  do {
    try {
      const result = await attempt();
      if (result !== undefined) return result;
    } catch (error) {
      reason = error;
    }
    await alive?.();
    await sleep(everyMs);
  } while (performance.now() < deadline);
  const last = reason instanceof Error ? `: ${reason.message}` : '';
  throw new Error(`waited ${timeoutMs / 1000} s for ${what}${last}`, { cause: reason });
}
