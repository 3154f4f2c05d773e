import { isErrno } from '../errors.ts';

/** Nothing where there is no such file; other errors are the check's failure. */
export async function there<T>(status: Promise<T>): Promise<T | undefined> {
  try {
    return await status;
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
}
