import { mkdirSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { expectErrno } from './errors/berth-error.ts';

/** Names in a directory; none if it does not exist, or is of a process in /proc that has ended. */
export function directoryNames(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    expectErrno(error, 'ENOENT', 'ESRCH');
    return [];
  }
}

/** Makes a directory, unless something is there already, whatever it is. @throws system errors */
export function makeIfMissing(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    expectErrno(error, 'EEXIST');
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
    expectErrno(error, 'ENOENT');
    return undefined;
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
    expectErrno(error, 'ENOENT', 'ENOTDIR');
    return undefined;
  }
}
