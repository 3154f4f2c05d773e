import { lstatSync, type Stats } from 'node:fs';
import { runDir } from '../../config/built-in.ts';
import { BerthError, isErrno } from '../../errors.ts';
import type { User } from '../../identity/user.ts';
import { installedPath } from '../../installed-path.ts';

/** Where it can be: systemd's folder of the user, else the one that PAM's hook mounts. */
export function runFoldersOf(user: Pick<User, 'uid'>): readonly [string, string] {
  return [`/run/user/${user.uid}`, mountedRunFolder(user)];
}

/** Where PAM's hook mounts one (`mountRunFolder`). */
export function mountedRunFolder({ uid }: Pick<User, 'uid'>): string {
  return `${runDir}/users/${uid}`;
}

/**
 * The user's folder for what is gone after a reboot. Not what XDG_RUNTIME_DIR says: that came with the
 * connection.
 *
 * @throws {BerthError} `run-folder-missing`
 */
export function runFolderOf(user: Pick<User, 'uid'>): string {
  const found = findRunFolder(user);
  if (found !== undefined) return found;
  const folders = runFoldersOf(user).join(', ');
  throw new BerthError(`there is no folder for what runs of yours: ${folders}`, {
    code: 'run-folder-missing',
    exit: 'config',
    hint: `pam_systemd or ${installedPath('hooks/pam-session')} makes it: see the session lines of /etc/pam.d/sshd, and syslog.`,
  });
}

/** The same; nothing where neither is there, or it is open to others. */
export function findRunFolder(user: Pick<User, 'uid'>): string | undefined {
  return runFoldersOf(user).find((folder) => isOwnFolder(folder, user.uid));
}

function isOwnFolder(folder: string, uid: number): boolean {
  const status = statusOf(folder);
  return status?.isDirectory() === true && status.uid === uid && (status.mode & 0o077) === 0;
}

/** A user can mount a file system of their own over it, of which root is told nothing. */
function statusOf(folder: string): Stats | undefined {
  try {
    return lstatSync(folder, { throwIfNoEntry: false });
  } catch (error) {
    if (isErrno(error)) return undefined;
    throw error;
  }
}
