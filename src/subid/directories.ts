import { lstatSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { writeError } from '../system/atomic-file.ts';
import { ensureRootFolder, ensureUserFolder } from '../system/root-folders.ts';

export interface FolderPlan {
  readonly storage: string;
  /** To be made, or given to the user or closed to others where that is all that lacks. */
  readonly make: readonly UserFolder[];
  readonly present: number;
  /** What stands in the place of a folder and is not touched. */
  readonly foreign: readonly { readonly path: string; readonly reason: string }[];
}

export interface UserFolder {
  readonly path: string;
  readonly uid: number;
  readonly gid: number;
}

/** Which of `STORAGE/users/UID` are not yet the user's own, mode 0700. */
export function planFolders(
  storage: string,
  users: readonly { readonly uid: number; readonly gid: number }[],
): FolderPlan {
  const make: UserFolder[] = [];
  const foreign: { path: string; reason: string }[] = [];
  let present = 0;
  for (const { uid, gid } of users) {
    const path = join(storage, 'users', String(uid));
    const status = statusOf(path);
    if (status === undefined) make.push({ path, uid, gid });
    else if (!status.isDirectory()) foreign.push({ path, reason: 'it is no directory' });
    else if (status.uid === uid && (status.mode & 0o7777) === 0o700) present += 1;
    // Root's is one that was made a moment before a kill.
    else if (status.uid === uid || status.uid === 0) make.push({ path, uid, gid });
    else foreign.push({ path, reason: `it is of UID ${status.uid}` });
  }
  return { storage, make, present, foreign };
}

/**
 * Makes the folders, as the login's hook would.
 *
 * @throws `folder-unsafe` where others could write above them; `disk-full`, … as `writeError`
 */
export function makeFolders({ storage, make }: FolderPlan): void {
  const users = join(storage, 'users');
  try {
    ensureRootFolder(users);
    for (const { path, uid, gid } of make) ensureUserFolder(path, { uid, gid });
  } catch (cause) {
    throw writeError(users, cause);
  }
}

function statusOf(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}
