import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  mkdirSync,
  openSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { BerthError, isErrno } from '../errors/berth-error.ts';

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
  withDirectory(path, 0o755, ensureRootDirectory, (descriptor, made) => {
    // Regardless of the umask.
    if (made) fchmodSync(descriptor, 0o755);
    const { uid, mode } = fstatSync(descriptor);
    if (uid !== 0) throw unsafe(path, `its owner is UID ${uid}`);
    // In a sticky directory such as /tmp, others cannot replace root's entries.
    if ((mode & 0o022) !== 0 && (mode & 0o1000) === 0)
      throw unsafe(path, 'other users can write it');
  });
}

/**
 * Creates a directory for one user (mode 0700) in a directory of root. Owner and mode are set through an open descriptor
 * and symlinks are not followed, so the user, who cannot write the parent directory, cannot redirect them.
 *
 * @throws {BerthError} `directory-unsafe` if something else exists at the path; system errors
 */
export function ensureUserDirectory(path: string, owner: DirectoryOwner): void {
  withDirectory(path, 0o700, ensureRootDirectory, (descriptor) => {
    const { uid, mode } = fstatSync(descriptor);
    // Owned by root: a killed run has created it and not yet changed its owner.
    if (uid === 0) fchownSync(descriptor, owner.uid, owner.gid);
    else if (uid !== owner.uid) throw unsafe(path, `its owner is UID ${uid}, not ${owner.uid}`);
    if (uid === 0 || (mode & 0o7777) !== 0o700) fchmodSync(descriptor, 0o700);
  });
}

function withDirectory(
  path: string,
  mode: number,
  above: (path: string) => void,
  work: (descriptor: number, made: boolean) => void,
): void {
  let made = false;
  let descriptor = open(path);
  if (descriptor === undefined) {
    if (dirname(path) !== path) above(dirname(path));
    made = make(path, mode);
    descriptor = open(path);
  }
  if (descriptor === undefined) throw unsafe(path, 'it was removed at the same time');
  try {
    work(descriptor, made);
  } finally {
    closeSync(descriptor);
  }
}

function open(path: string): number | undefined {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
  try {
    return openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    if (isErrno(error, 'ENOTDIR', 'ELOOP')) throw unsafe(path, 'it is not a directory');
    throw error;
  }
}

/** @returns false if another process has created it meanwhile */
function make(path: string, mode: number): boolean {
  try {
    mkdirSync(path, { mode });
    return true;
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false;
    throw error;
  }
}

function unsafe(path: string, why: string): BerthError {
  return new BerthError(`${path} cannot be used: ${why}`, {
    code: 'directory-unsafe',
    fields: { file: path },
  });
}
