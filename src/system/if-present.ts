import { mkdirSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { isErrno } from '../errors/berth-error.ts';

/** Names in a directory; none if it does not exist, or is of a process in /proc that has ended. */
export function directoryNames(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ESRCH')) return [];
    throw error;
  }
}

/** Makes a directory, unless something is there already, whatever it is. @throws system errors */
export function makeIfMissing(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error;
  }
}

/** The path of a file that is to be replaced: a symlink stays, and the file that it leads to is replaced. @throws system errors */
export function realPathIfPresent(path: string): string {
  return unlessMissing(() => realpathSync(path)) ?? path;
}

/** Undefined if there is no such file; other errors are thrown. */
export function unlessMissing<Result>(work: () => Result): Result | undefined {
  try {
    return work();
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** For files of the kernel, whose process or device may be gone at any time. @returns undefined after any error */
export function ifReadable<Result>(read: () => Result): Result | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** The text of a file; empty if there is none. @throws system errors */
export function textIfPresent(file: string): string {
  return unlessMissing(() => readFileSync(file, 'utf8')) ?? '';
}

/** As `unlessMissing`, asynchronously. */
export async function ifExists<T>(status: Promise<T>): Promise<T | undefined> {
  try {
    return await status;
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
}
