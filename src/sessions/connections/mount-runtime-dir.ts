import { rmdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { BerthError } from '../../system/errors/berth-error.ts';
import type { User } from '../../system/identity/nss.ts';
import { unlessMissing } from '../../system/if-present.ts';
import { mountOf, userDirectoryStatus } from '../../system/path-descriptor.ts';
import { ensureRootDirectory, ensureUserDirectory } from '../../system/safe-directories.ts';
import { runProgram } from '../../system/run-program.ts';
import { withUserLock } from './user-lock.ts';
import { mountedRuntimeDir } from './runtime-dir.ts';
import { mountLockPath, type SessionContext } from './state-paths.ts';
import { openConnections } from './open-connections.ts';

interface Site {
  readonly run: string;
  /** `podman.nsenter` of ssh.yml. */
  readonly nsenter: string;
}

/** Podman and the forwards of a user need some hundred KiB. */
export const maximumRuntimeDirMiB = 64;
const mostFiles = 16_384;

/** How long to wait for another process that mounts or unmounts it. Milliseconds. */
const lockMs = 2_000;

const mountTmpfs = ['mount', '--no-mtab', '-t', 'tmpfs', '-o'];

/** So umount(8) asks a file system nothing. */
const unmount = ['umount', '--no-mtab', '--no-canonicalize', '--force'];

/**
 * Mounts a tmpfs of limited size as the user's runtime directory: in an ordinary directory the user could
 * fill /run. The directory below the mount belongs to root, so it cannot be mistaken for the tmpfs.
 *
 * The mount is made in the mount namespace of PID 1. Namespaces of sshd's or the reaper's service receive mounts
 * from there, but do not propagate their own.
 *
 * @throws {BerthError} `runtime-directory-not-mounted`, `directory-unsafe`, `lock-timeout`; system errors
 */
export async function mountRuntimeDir(site: Site, user: User): Promise<void> {
  const { uid, gid } = user;
  const directory = mountedRuntimeDir(user);
  await withUserLock(site, mountLockPath(site, uid), lockMs, async () => {
    if (userDirectoryStatus(directory)?.uid !== uid) {
      ensureRootDirectory(directory);
      const limits = `size=${maximumRuntimeDirMiB}m,nr_inodes=${mostFiles},nosuid,nodev`;
      const options = `${limits},mode=0700,uid=${uid},gid=${gid}`;
      const failure = await onHost(site, [...mountTmpfs, options, 'tmpfs', directory]);
      if (failure !== undefined) throw notMounted(directory, failure);
      // Never give the user the directory below the mount.
      if (userDirectoryStatus(directory)?.uid !== uid)
        throw notMounted(
          directory,
          'a tmpfs was mounted on the host, but this process does not see it (a mount namespace of its own?)',
        );
    }
    // Resets the mode, which the user can change.
    ensureUserDirectory(directory, user);
  });
}

/**
 * Unmounts and removes the directory that `mountRuntimeDir` mounted, unless the user has connected again. If a
 * process of the user has a file open there, it stays: the next login uses it, and the reaper tries again.
 * A lazy unmount is no alternative: it would let a user keep any number of them.
 *
 * @throws {BerthError} `runtime-directory-not-unmounted`, `lock-timeout`; system errors
 */
export async function unmountRuntimeDir(
  { run, settings }: Pick<SessionContext, 'run' | 'settings'>,
  user: Pick<User, 'uid'>,
): Promise<void> {
  const site = { run, nsenter: settings.podman.nsenter };
  const directory = mountedRuntimeDir(user);
  // Runs each minute for each user; on most hosts the directory does not exist.
  if (isMounted(directory) === undefined) return;
  await withUserLock(site, mountLockPath(site, user.uid), lockMs, async () => {
    if (openConnections(site, user.uid).size > 0) return;
    // Up to twice: a user can mount a FUSE file system over it, which `--force` aborts.
    for (let turn = 0; turn < 2 && isMounted(directory) === true; turn += 1) {
      const failure = await onHost(site, [...unmount, directory]);
      if (failure === undefined) continue;
      if (failure.includes('busy')) return;
      throw new BerthError(
        'runtime-directory-not-unmounted',
        `could not unmount ${directory}: ${failure}`,
        {
          hint: `Find the processes that use it: findmnt ${directory}; fuser -vm ${directory}. \`berth reap\` tries again each minute.`,
        },
      );
    }
    // It is root's directory now. Removing it also detaches the mount in mount namespaces that users created.
    if (isMounted(directory) === false && userDirectoryStatus(directory)?.uid === 0)
      rmdirSync(directory);
  });
}

/** @returns What the program printed if it failed. */
async function onHost({ nsenter }: Site, argv: readonly string[]): Promise<string | undefined> {
  const { error, stderr } = await runProgram(nsenter, ['--mount=/proc/1/ns/mnt', '--', ...argv], {
    timeoutMs: 3_000,
  });
  return error === undefined ? undefined : stderr.trim() || error.message;
}

/** undefined if there is no such directory. */
function isMounted(directory: string): boolean | undefined {
  return unlessMissing(() => mountOf(directory) !== mountOf(dirname(directory)));
}

function notMounted(directory: string, cause: string): BerthError {
  return new BerthError('runtime-directory-not-mounted', `could not mount ${directory}: ${cause}`);
}
