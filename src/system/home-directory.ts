import { mkdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { isErrno } from '../errors/berth-error.ts';

/**
 * Creates a directory below a home, and missing parents, with mode 0700. Call it as the user. Node's `recursive` is not
 * used: on a read-only file system it reports ENOENT, and it would create the home itself.
 *
 * @throws errors of mkdir(2)
 */
export async function makeDirectoryInHome(home: string, directory: string): Promise<void> {
  try {
    await makeOne(directory);
  } catch (error) {
    if (!isErrno(error, 'ENOENT') || dirname(directory) === resolve(home) || directory === '/')
      throw error;
    await makeDirectoryInHome(home, dirname(directory));
    await makeOne(directory);
  }
}

/** Another hook may create it at the same moment. */
async function makeOne(directory: string): Promise<void> {
  try {
    await mkdir(directory, { mode: 0o700 });
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error;
  }
}
