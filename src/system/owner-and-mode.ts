import { lstat } from 'node:fs/promises';
import { BerthError, isErrno } from '../errors/berth-error.ts';
import type { WriteOptions } from './atomic-file.ts';

/**
 * Owner and mode of a configuration file, which its next version keeps.
 *
 * @returns undefined if there is no file
 * @throws {BerthError} `init-file-unsafe` for a symlink, a directory or a device; system errors
 */
export async function ownerAndMode(path: string): Promise<WriteOptions | undefined> {
  try {
    const status = await lstat(path);
    const { uid, gid, mode } = status;
    // A service without the right to change owners may write its own files.
    const own = uid === process.geteuid?.() && gid === process.getegid?.();
    if (status.isFile()) return { mode: mode & 0o777, ...(own ? {} : { owner: { uid, gid } }) };
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
  throw new BerthError(`${path} is no regular file, and was not changed`, {
    code: 'init-file-unsafe',
    hint: 'Look at it with `ls -l`. If a tool manages it, make the change there; otherwise move it away, and run the command again.',
    fields: { file: path },
  });
}
