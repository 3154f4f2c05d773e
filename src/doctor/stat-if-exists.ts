import { isErrno } from '../errors.ts';

/** Undefined if the file does not exist; other errors are thrown. */
export async function ifExists<T>(status: Promise<T>): Promise<T | undefined> {
  try {
    return await status;
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
}
