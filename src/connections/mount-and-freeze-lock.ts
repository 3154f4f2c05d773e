import { takeLock } from '../system/file-lock.ts';
import { ensureRootDirectory } from '../system/safe-directories.ts';
import type { SessionContext } from './state-paths.ts';

/** The lock is on a local file system, so its owner can always be checked. Milliseconds. */
const foreignStaleMs = 60_000;

/**
 * Runs work of root for one user while no other process of this host does the same.
 *
 * @param lock A path from `mountLockPath` or `freezeLockPath`.
 * @param waitMs How long to wait for another holder.
 * @throws {BerthError} `lock-timeout`, `directory-unsafe`, the errors of `work`
 */
export async function withUserLock<T>(
  { run }: Pick<SessionContext, 'run'>,
  lock: string,
  waitMs: number,
  work: () => Promise<T>,
): Promise<T> {
  ensureRootDirectory(`${run}/ending`);
  const held = await takeLock(lock, { waitMs, foreignStaleMs });
  try {
    return await work();
  } finally {
    await held?.release();
  }
}
