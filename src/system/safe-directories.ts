import { chmodSync, chownSync, constants, fstatSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { expectErrno, isErrno } from './errors/berth-error.ts';
import { O_PATH, refuseForeignMount, unsafeDirectory, whileOpen } from './path-descriptor.ts';

/** The owner of a directory. */
export interface DirectoryOwner {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Creates a directory of root, mode 0755, and its missing parents. An existing one is accepted only if nobody else can write
 * it, so that its contents can be trusted.
 *
 * @throws {BerthError} `directory-unsafe`; system errors
 */
export function ensureRootDirectory(path: string): void {
  withDirectory(path, 0o755, (descriptor, made) => {
    // Regardless of the umask.
    if (made) chmodSync(`/proc/self/fd/${descriptor}`, 0o755);
    const { uid, mode } = fstatSync(descriptor);
    if (uid !== 0) throw unsafeDirectory(path, `its owner is UID ${uid}`);
    // In a sticky directory such as /tmp, others cannot replace root's entries.
    if ((mode & 0o022) !== 0 && (mode & 0o1000) === 0)
      throw unsafeDirectory(path, 'other users can write it');
  });
}

/**
 * Creates a directory for one user (mode 0700) in a directory of root. Owner and mode are set through an open descriptor
 * and symlinks are not followed, so the user, who cannot write the parent directory, cannot redirect them.
 *
 * @throws {BerthError} `directory-unsafe` if something else exists at the path, or is mounted over it; system errors
 */
export function ensureUserDirectory(path: string, owner: DirectoryOwner): void {
  withDirectory(path, 0o700, (descriptor) => {
    refuseForeignMount(descriptor, path);
    const { uid, mode } = fstatSync(descriptor);
    const opened = `/proc/self/fd/${descriptor}`;
    // Owned by root: a killed run has created it and not yet changed its owner.
    if (uid === 0) chownSync(opened, owner.uid, owner.gid);
    else if (uid !== owner.uid)
      throw unsafeDirectory(path, `its owner is UID ${uid}, not ${owner.uid}`);
    if (uid === 0 || (mode & 0o7777) !== 0o700) chmodSync(opened, 0o700);
  });
}

function withDirectory(
  path: string,
  mode: number,
  work: (descriptor: number, made: boolean) => void,
): void {
  let made = false;
  let descriptor = open(path);
  if (descriptor === undefined) {
    if (dirname(path) !== path) ensureRootDirectory(dirname(path));
    made = make(path, mode);
    descriptor = open(path);
  }
  if (descriptor === undefined) throw unsafeDirectory(path, 'it was removed at the same time');
  whileOpen(descriptor, () => work(descriptor, made));
}

function open(path: string): number | undefined {
  try {
    return openSync(path, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    if (isErrno(error, 'ENOTDIR', 'ELOOP')) throw unsafeDirectory(path, 'it is not a directory');
    throw error;
  }
}

/** @returns false if another process has created it meanwhile */
function make(path: string, mode: number): boolean {
  try {
    mkdirSync(path, { mode });
    return true;
  } catch (error) {
    expectErrno(error, 'EEXIST');
    return false;
  }
}
