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
import { BerthError, isErrno } from '../errors.ts';

/** Whose a folder is to be. */
export interface FolderOwner {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Makes a folder of root's, mode 0755, and those above it where they are missing. One that is there is
 * taken only where nobody else can put anything into it: what lies below is then root's word.
 *
 * @throws `directory-unsafe`, and errors of the system
 */
export function ensureRootFolder(path: string): void {
  withFolder(path, 0o755, ensureRootFolder, (descriptor, made) => {
    // Whatever the umask is.
    if (made) fchmodSync(descriptor, 0o755);
    const { uid, mode } = fstatSync(descriptor);
    if (uid !== 0) throw unsafe(path, `its owner is UID ${uid}`);
    // /run of a test, as /tmp, may be sticky: then others cannot replace what is root's.
    if ((mode & 0o022) !== 0 && (mode & 0o1000) === 0) throw unsafe(path, 'others can write to it');
  });
}

/**
 * Makes a folder for one user alone (mode 0700) in a folder of root's. Owner and mode are set on the
 * open folder, and links are not followed: the user, who can change nothing in the folder above, cannot
 * turn them to another file.
 *
 * @throws `directory-unsafe` where somebody else's stands in its place; errors of the system
 */
export function ensureUserFolder(path: string, owner: FolderOwner): void {
  withFolder(path, 0o700, ensureRootFolder, (descriptor) => {
    const { uid, mode } = fstatSync(descriptor);
    // Root's is one that a killed run made and did not give away.
    if (uid === 0) fchownSync(descriptor, owner.uid, owner.gid);
    else if (uid !== owner.uid) throw unsafe(path, `its owner is UID ${uid}, not ${owner.uid}`);
    if (uid === 0 || (mode & 0o7777) !== 0o700) fchmodSync(descriptor, 0o700);
  });
}

function withFolder(
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
  if (descriptor === undefined) throw unsafe(path, 'it was removed at this moment');
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
    if (isErrno(error, 'ENOTDIR', 'ELOOP')) throw unsafe(path, 'it is no folder');
    throw error;
  }
}

/** False where another login was faster. */
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
    exit: 'permission',
    hint: 'Look at it with `namei -l`; a folder of root, and all above it, must be writable by root only.',
    fields: { file: path },
  });
}
