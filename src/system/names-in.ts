import { readdirSync } from 'node:fs';
import { isErrno } from '../errors.ts';

/** Nothing where the folder is not there. */
export function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return [];
    throw error;
  }
}
