import { readFileSync } from 'node:fs';
import { isErrno } from '../errors/berth-error.ts';
import { takeLock } from '../system/file-lock.ts';
import { writePrivateFile } from '../system/private-file.ts';
import { ensureRootDirectory } from '../system/safe-directories.ts';
import type { RemovalResult } from './backend.ts';
import {
  lastCleanupFile,
  cleanupLockPath,
  type SessionContext,
} from '../connections/state-paths.ts';

/**
 * Runs a cleanup that covers all connections of a user, one process at a time. A process that waits while another
 * one starts and completes the same cleanup returns without doing it again, so thirty connections that close
 * at once cost little more than two.
 *
 * @param part What `end` removes.
 * @param end Must look for itself at what is left.
 * @throws {BerthError} `directory-unsafe`, `lock-timeout`, the errors of `end`
 */
export async function withCleanupLock(
  site: Pick<SessionContext, 'run'>,
  uid: number,
  part: 'containers' | 'pods',
  end: () => Promise<RemovalResult>,
): Promise<RemovalResult> {
  const file = lastCleanupFile(site, uid, part);
  const asked = process.hrtime.bigint();
  ensureRootDirectory(`${site.run}/ending`);
  const lock = await takeLock(cleanupLockPath(site, uid), {
    ...{ waitMs: 20_000, foreignStaleMs: 60_000 },
    enough: () => lastBegan(file) > asked,
  });
  if (lock === undefined) return { removed: 0, failed: [] };
  try {
    const began = process.hrtime.bigint();
    const ended = await end();
    if (ended.failed.length === 0) {
      ensureRootDirectory(`${site.run}/ended`);
      writePrivateFile(file, String(began));
    }
    return ended;
  } finally {
    await lock.release();
  }
}

/** When the last complete cleanup began, by the clock that all processes of this boot share. Nanoseconds. */
function lastBegan(file: string): bigint {
  try {
    return BigInt(readFileSync(file, 'latin1'));
  } catch (error) {
    if (isErrno(error, 'ENOENT') || error instanceof SyntaxError) return 0n;
    throw error;
  }
}
