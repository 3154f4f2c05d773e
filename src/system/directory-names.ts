import { readdirSync } from 'node:fs';
import { isErrno } from '../errors/berth-error.ts';

/** Names in a directory; none if it does not exist. */
export function directoryNames(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return [];
    throw error;
  }
}
