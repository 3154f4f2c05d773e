import { mkdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { isErrno } from '../errors.ts';

/**
 * Creates a directory below a home, and missing parents, with mode 0700. Call it as the user. Node's `recursive` is not
 * used: on a read-only file system it reports ENOENT, and it would create the home itself.
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

/** Another hook may create it at the same moment. */
async function makeOne(folder: string): Promise<void> {
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error;
  }
}
