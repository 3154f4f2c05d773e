import { mkdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { isErrno } from '../errors.ts';

/**
 * Makes a folder below a home, and what is missing above it, each 0700; to be called as the user. Not
 * by Node's `recursive`: of a read-only file system it says ENOENT, and it would make homes.
 *
 * @throws errors of mkdir(2)
 */
export async function makeBelow(home: string, folder: string): Promise<void> {
  try {
    await makeOne(folder);
  } catch (error) {
    if (!isErrno(error, 'ENOENT') || dirname(folder) === resolve(home) || folder === '/')
      throw error;
    await makeBelow(home, dirname(folder));
    await makeOne(folder);
  }
}

/** Another hook may make it at the same moment. */
async function makeOne(folder: string): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error;
  }
}
