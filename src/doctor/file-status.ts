import { isErrno } from '../errors/berth-error.ts';

/** Undefined if the file does not exist; other errors are thrown. */
export async function ifExists<T>(status: Promise<T>): Promise<T | undefined> {
  try {
    return await status;
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
}

/** The permissions of a mode as chmod(1) takes them, with four digits. */
export function octal(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, '0');
}
