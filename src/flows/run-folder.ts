import { lstatSync } from 'node:fs';

/**
 * systemd's folder of the user, else the one that PAM's hook made. Not what XDG_RUNTIME_DIR says: that
 * came with the connection.
 *
 * @param run `/run/berth`
 * @returns Nothing where neither is there, or it is open to others.
 */
export function findRunFolder(uid: number, run = '/run/berth'): string | undefined {
  return [`/run/user/${uid}`, `${run}/users/${uid}`].find((folder) => {
    const status = lstatSync(folder, { throwIfNoEntry: false });
    return status?.isDirectory() === true && status.uid === uid && (status.mode & 0o077) === 0;
  });
}
