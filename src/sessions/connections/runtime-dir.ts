import { runDir } from '../../config/schema/default-settings.ts';
import { BerthError } from '../../system/errors/berth-error.ts';
import type { User } from '../../system/identity/nss.ts';
import { userDirectoryStatus } from '../../system/path-descriptor.ts';
import { ifUsable } from '../../system/user-file.ts';

/**
 * The two possible runtime directories: the one that the PAM hook mounts, then systemd's. The mounted one is there only as
 * long as sessions use it: it stays theirs if the host gets systemd-logind meanwhile.
 */
export function runtimeDirCandidates(user: Pick<User, 'uid'>): readonly [string, string] {
  return [mountedRuntimeDir(user), systemdRuntimeDir(user)];
}

/** The directory of a user's notes, locks and container files, below the runtime directory. */
export const notesDirectory = 'berth';

/** Where systemd-logind mounts one. */
export function systemdRuntimeDir({ uid }: Pick<User, 'uid'>): string {
  return `/run/user/${uid}`;
}

/** Where the PAM hook mounts one (`mountRuntimeDir`). */
export function mountedRuntimeDir({ uid }: Pick<User, 'uid'>): string {
  return `${runDir}/users/${uid}`;
}

/**
 * The user's runtime directory. XDG_RUNTIME_DIR is not used: the client can set it.
 *
 * @throws {BerthError} `runtime-directory-missing`
 */
export function runtimeDirOf(user: Pick<User, 'uid'>): string {
  const found = findRuntimeDir(user);
  if (found !== undefined) return found;
  const directories = runtimeDirCandidates(user).join(', ');
  throw new BerthError(
    'runtime-directory-missing',
    `no runtime directory of yours was found: looked for ${directories}`,
  );
}

/** The user's runtime directory; undefined if neither exists, or others have access to it. */
export function findRuntimeDir(user: Pick<User, 'uid'>): string | undefined {
  return runtimeDirCandidates(user).find((directory) => isOwnDirectory(directory, user.uid));
}

/** Whether it is a directory of this user that others have no access to, without a mount over it that may be the user's. */
export function isOwnDirectory(directory: string, uid: number): boolean {
  const status = ifUsable(() => userDirectoryStatus(directory));
  return status?.isDirectory() === true && status.uid === uid && (status.mode & 0o077) === 0;
}
