import { takeLock } from '../../system/owner-lock.ts';
import { ensureRootFolder } from '../../system/root-folders.ts';
import type { SessionSite } from './state-paths.ts';

/** The lock is local: its owner can always be looked up. Milliseconds. */
const foreignStaleMs = 60_000;

/**
 * Does root's work for a user while no other process of this host does the same.
 *
 * @param lock Of `mountLock` and the like: a file in `ending`.
 * @param waitMs How long to wait for another.
 * @throws {BerthError} `lock-timeout`, `folder-unsafe`, what `work` throws
 */
export async function aloneForUser<T>(
  { run }: Pick<SessionSite, 'run'>,
  lock: string,
  waitMs: number,
  work: () => Promise<T>,
): Promise<T> {
  ensureRootFolder(`${run}/ending`);
  const held = await takeLock(lock, { waitMs, foreignStaleMs });
  try {
    return await work();
  } finally {
    await held?.release();
  }
}
