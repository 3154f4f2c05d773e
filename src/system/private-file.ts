import {
  closeSync,
  fchmodSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { isAbandoned, temporaryName } from './temporary-name.ts';
import { readUserFile, readUserFileSync } from './user-file.ts';

/**
 * Reads a file that holds secrets, and refuses one that another user could have written or read. Synchronous and
 * with node:fs only, because the exec plugin runs at each kubectl.
 *
 * @param uid the UID that must own it
 * @returns undefined if there is no such file
 * @throws {BerthError} `private-file-unsafe` (owner, mode, not a regular file), `private-file-too-large`,
 *   `private-file-unreadable`
 */
export function readPrivateFile(
  path: string,
  uid: number,
  maximumBytes: number,
): string | undefined {
  return readUserFileSync(path, { uid, maximumBytes, secret: true })?.toString('utf8');
}

/** As `readPrivateFile`, for a file in a home: a home that hangs must not stop the event loop and its deadline. */
export async function readPrivateFileAsync(
  path: string,
  uid: number,
  maximumBytes: number,
): Promise<string | undefined> {
  return (await readUserFile(path, { uid, maximumBytes, secret: true }))?.toString('utf8');
}

/** Replaces a file of root's state atomically, readable by its owner only: see `writeStateFile`. */
export function writePrivateFile(path: string, contents: string): void {
  writeStateFile(path, contents, 0o600);
}

/**
 * Replaces a file atomically: readers see the old contents or the new, also if this process is killed. Missing
 * directories are created with mode 0700, and what killed writers of this file left is removed.
 *
 * It is not synced to disk, so it is only for data that can be obtained again if a power failure leaves the file
 * empty. It is for root's own state on a local disk; into a home, use `writeAtomically`, which also explains a full
 * disk.
 *
 * @param mode permission bits, regardless of the umask
 */
export function writeStateFile(path: string, contents: string, mode: number): void {
  const directory = dirname(path);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(directory))
    if (isAbandoned(name, path)) rmSync(join(directory, name), { force: true });
  const temporary = temporaryName(path);
  const descriptor = openSync(temporary, 'wx', 0o600);
  try {
    writeFileSync(descriptor, contents);
    fchmodSync(descriptor, mode);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
}
