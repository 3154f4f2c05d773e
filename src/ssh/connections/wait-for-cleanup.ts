import { lstatSync } from 'node:fs';
import { cleanupLockPath, type SessionContext } from './state-paths.ts';

/**
 * Waits for a running cleanup of the user, if there is one. It may have started before the new connection was
 * registered, and would then remove a container or pod that the connection opens meanwhile.
 *
 * @param waitMs At most.
 * @throws {BerthError} `lock-timeout`
 */
export async function waitForCleanup(
  site: Pick<SessionContext, 'run'>,
  uid: number,
  waitMs: number,
): Promise<void> {
  const lock = cleanupLockPath(site, uid);
  if (!exists(lock)) return;
  const { takeLock } = await import('../../system/file-lock.ts');
  const enough = (): boolean => !exists(lock);
  const held = await takeLock(lock, { waitMs, foreignStaleMs: 60_000, enough });
  await held?.release();
}

/** A lock is a symlink without a target, for which `existsSync` is false. */
function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}
