import { realpathSync } from 'node:fs';
import { isErrno } from '../errors/berth-error.ts';

/** The path of a file that is to be replaced: a symlink stays, and the file that it leads to is replaced. @throws system errors */
export function realPathIfPresent(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return path;
    throw error;
  }
}
