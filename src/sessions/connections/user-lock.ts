import { takeLock } from '../../system/file-lock.ts';
import { textIfPresent } from '../../system/if-present.ts';
import { writePrivateFile } from '../../system/private-file.ts';
import { ensureRootDirectory } from '../../system/safe-directories.ts';
import { cleanupLockPath, lastCleanupFile, type SessionContext } from './state-paths.ts';

type Site = Pick<SessionContext, 'run'>;

/** The lock is on a local file system, so its owner can always be checked. Milliseconds. */
const foreignStaleMs = 60_000;

/**
 * Runs work of root for one user while no other process of this host does the same.
 *
 * @param lock A path from `state-paths.ts`.
 * @param timeoutMs How long to wait for another holder.
 * @param stopWaitingIf Whether nothing is left to do; asked while waiting.
 * @returns undefined if `stopWaitingIf` said so
 * @throws {BerthError} `lock-timeout`, `directory-unsafe`, the errors of `work`
 */
export function withUserLock<T>(
  site: Site,
  lock: string,
  timeoutMs: number,
  work: () => Promise<T>,
): Promise<T>;
export function withUserLock<T>(
  site: Site,
  lock: string,
  timeoutMs: number,
  work: () => Promise<T>,
  stopWaitingIf: () => boolean,
): Promise<T | undefined>;
export async function withUserLock<T>(
  { run }: Site,
  lock: string,
  timeoutMs: number,
  work: () => Promise<T>,
  stopWaitingIf?: () => boolean,
): Promise<T | undefined> {
  ensureRootDirectory(`${run}/ending`);
  const held = await takeLock(lock, { timeoutMs, foreignStaleMs, stopWaitingIf });
  if (held === undefined) return undefined;
  try {
    return await work();
  } finally {
    await held.release();
  }
}

/**
 * Runs a cleanup that covers all connections of a user, one process at a time. A process that waits while another
 * one starts and completes the same cleanup returns without doing it again, so thirty connections that close
 * at once cost little more than two.
 *
 * @param part What `end` removes.
 * @param end Must look for itself at what is left.
 * @throws {BerthError} `directory-unsafe`, `lock-timeout`, the errors of `end`
 */
export async function withCleanupLock<T extends { readonly failed: readonly unknown[] }>(
  site: Site,
  uid: number,
  part: 'containers' | 'pods',
  end: () => Promise<T>,
): Promise<T | { readonly removed: 0; readonly failed: readonly [] }> {
  const file = lastCleanupFile(site, uid, part);
  const asked = process.hrtime.bigint();
  const work = async (): Promise<T> => {
    const began = process.hrtime.bigint();
    const ended = await end();
    if (ended.failed.length === 0) {
      ensureRootDirectory(`${site.run}/ended`);
      writePrivateFile(file, String(began));
    }
    return ended;
  };
  const stopWaitingIf = (): boolean => lastBegan(file) > asked;
  const ended = await withUserLock(site, cleanupLockPath(site, uid), 20_000, work, stopWaitingIf);
  return ended ?? { removed: 0, failed: [] };
}

/** When the last complete cleanup began, by the clock that all processes of this boot share. Nanoseconds. */
function lastBegan(file: string): bigint {
  const [began = '0'] = /^\d+$/.exec(textIfPresent(file)) ?? [];
  return BigInt(began);
}
