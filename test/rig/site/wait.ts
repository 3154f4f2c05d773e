import { setTimeout as sleep } from 'node:timers/promises';

export interface Waiting {
  /** What is waited for, for the error. */
  readonly what: string;
  readonly timeoutMs: number;
  readonly everyMs?: number;
  /** Called between tries; throws when going on is pointless, e.g. because the process died. */
  readonly alive?: () => Promise<void>;
}

/**
 * Tries until `attempt` gives something else than undefined, at most `timeoutMs` milliseconds. An
 * attempt that throws counts as not yet; the last reason is kept as the error's cause.
 *
 * @throws Error when the time is over, or whatever `alive` throws
 */
export async function waitFor<T>(
  { what, timeoutMs, everyMs = 100, alive }: Waiting,
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
