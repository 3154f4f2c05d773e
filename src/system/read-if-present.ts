import { readFile } from 'node:fs/promises';
import { isErrno } from '../errors.ts';

/** The text of a file of root; undefined if there is none. @throws system errors */
export async function readIfPresent(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}
