import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { writeError } from '../system/atomic-file.ts';
import { ensureRootDirectory, ensureUserDirectory } from '../system/safe-directories.ts';

export interface StorageDirPlan {
  readonly storage: string;
  /** Directories to create, or whose owner or mode is to be set. */
  readonly make: readonly UserStorageDir[];
  readonly present: number;
  /** Paths that are taken by something else, and left alone. */
  readonly foreign: readonly { readonly path: string; readonly reason: string }[];
}

export interface UserStorageDir {
  readonly path: string;
  readonly uid: number;
  readonly gid: number;
}

/** Finds the directories `STORAGE/users/UID` that do not belong to the user with mode 0700 yet. */
export function planStorageDirs(
  storage: string,
  users: readonly { readonly uid: number; readonly gid: number }[],
): StorageDirPlan {
  const make: UserStorageDir[] = [];
  const foreign: { path: string; reason: string }[] = [];
  let present = 0;
  for (const { uid, gid } of users) {
    const path = join(storage, 'users', String(uid));
    const status = lstatSync(path, { throwIfNoEntry: false });
    if (status === undefined) make.push({ path, uid, gid });
    else if (!status.isDirectory()) foreign.push({ path, reason: 'it is not a directory' });
    else if (status.uid === uid && (status.mode & 0o7777) === 0o700) present += 1;
    // Root's: a run that was killed created it.
    else if (status.uid === uid || status.uid === 0) make.push({ path, uid, gid });
    else foreign.push({ path, reason: `it belongs to UID ${status.uid}` });
  }
  return { storage, make, present, foreign };
}

/**
 * Creates the directories, as the PAM hook does at a login.
 *
 * @throws {BerthError} `directory-unsafe` if users other than root can write above them; `disk-full`, … as `writeError`
 */
export function createStorageDirs({ storage, make }: StorageDirPlan): void {
  const users = join(storage, 'users');
  try {
    ensureRootDirectory(users);
    for (const { path, uid, gid } of make) ensureUserDirectory(path, { uid, gid });
  } catch (cause) {
    throw writeError(users, cause);
  }
}
