import { lstatSync, rmdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { BerthError, isErrno } from '../../errors.ts';
import type { User } from '../../identity/user.ts';
import { ensureRootFolder, ensureUserFolder } from '../../system/root-folders.ts';
import { runProgram } from '../../system/run-program.ts';
import { aloneForUser } from './user-lock.ts';
import { mountedRunFolder } from './runtime-dir.ts';
import { mountLock, type SessionSite } from './state-paths.ts';
import { openConnections } from './user-connections.ts';

interface Site {
  readonly run: string;
  /** `podman.nsenter` of ssh.yml. */
  readonly nsenter: string;
}

/** What podman and the forwards of a user keep in it takes some hundred KiB. */
export const mostRunFolderMiB = 64;
const mostFiles = 16_384;

/** How long to wait for another that mounts or unmounts it. Milliseconds. */
const lockMs = 2_000;

const mount = ['mount', '--no-mtab'];

/**
 * Mounts a tmpfs of limited size as the user's run folder: in a plain folder the user could fill /run, which
 * the whole host needs. The folder below is root's, so where the tmpfs is missing nobody takes it for one.
 *
 * In the mount namespace of the host's first process: that of sshd's or of the reaper's service receives
 * what is mounted there, and tells nobody of its own.
 *
 * @throws `run-folder-not-mounted`, `folder-unsafe`, `lock-timeout`, errors of the system
 */
export async function mountRunFolder(site: Site, user: User): Promise<void> {
  const { uid, gid } = user;
  const folder = mountedRunFolder(user);
  await aloneForUser(site, mountLock(site, uid), lockMs, async () => {
    if (ownerOf(folder) !== uid) {
      ensureRootFolder(folder);
      const limits = `size=${mostRunFolderMiB}m,nr_inodes=${mostFiles},nosuid,nodev`;
      const options = `${limits},mode=0700,uid=${uid},gid=${gid}`;
      const said = await onHost(site, [...mount, '-t', 'tmpfs', '-o', options, 'tmpfs', folder]);
      if (said !== undefined) throw notMounted(folder, said);
      // Never the folder below.
      if (ownerOf(folder) !== uid)
        throw notMounted(
          folder,
          'a tmpfs was mounted on the host, but this process does not see it (a mount namespace of its own?)',
        );
    }
    // The user may have changed its mode.
    ensureUserFolder(folder, user);
  });
}

/**
 * Removes what `mountRunFolder` made, with all that is in it, unless a connection has come meanwhile. Where
 * a process of the user's still has something open there, it stays: the next login uses it, and the reaper
 * tries again. (A lazy detach would let a user hold any number of them.)
 *
 * @throws `run-folder-not-unmounted`, `lock-timeout`, errors of the system
 */
export async function unmountRunFolder(
  { run, settings }: Pick<SessionSite, 'run' | 'settings'>,
  user: Pick<User, 'uid'>,
): Promise<void> {
  const site = { run, nsenter: settings.podman.nsenter };
  const folder = mountedRunFolder(user);
  // Each minute for each user, and at most hosts there is none.
  if (ownerOf(folder) === undefined) return;
  await aloneForUser(site, mountLock(site, user.uid), lockMs, async () => {
    if (openConnections(site, user.uid).size > 0) return;
    // Twice: a user can mount a file system of FUSE over it.
    for (let turn = 0; turn < 2 && isMounted(folder); turn += 1) {
      const said = await onHost(site, ['umount', '--no-mtab', folder]);
      if (said === undefined) continue;
      if (said.includes('busy')) return;
      throw notUnmounted(folder, said);
    }
    // Root's by now. This also takes it out of the mount namespaces that users made.
    if (!isMounted(folder) && ownerOf(folder) === 0) rmdirSync(folder);
  });
}

/** @returns What the program said where it failed. */
async function onHost({ nsenter }: Site, words: readonly string[]): Promise<string | undefined> {
  const { error, stderr } = await runProgram(nsenter, ['--mount=/proc/1/ns/mnt', '--', ...words], {
    ...{ cwd: '/', env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' }, timeout: 3_000 },
  });
  return error === undefined ? undefined : stderr.trim() || error.message;
}

/** Nothing where there is no such folder; -1 where root is not told. */
function ownerOf(folder: string): number | undefined {
  try {
    return lstatSync(folder, { throwIfNoEntry: false })?.uid;
  } catch (error) {
    if (isErrno(error)) return -1;
    throw error;
  }
}

function isMounted(folder: string): boolean {
  try {
    return lstatSync(folder).dev !== lstatSync(dirname(folder)).dev;
  } catch (error) {
    if (isErrno(error)) return true;
    throw error;
  }
}

function notMounted(folder: string, said: string): BerthError {
  return new BerthError(`${folder} could not be mounted: ${said}`, {
    code: 'run-folder-not-mounted',
    exit: 'config',
    hint: 'Add `session optional pam_systemd.so` to /etc/pam.d/sshd, so that /run/user/UID exists, or run sshd in the mount namespace of the host. Check with findmnt.',
  });
}

function notUnmounted(folder: string, said: string): BerthError {
  return new BerthError(`${folder} could not be unmounted: ${said}`, {
    code: 'run-folder-not-unmounted',
    exit: 'temporary',
    hint: `Find what uses it: findmnt ${folder}; fuser -vm ${folder}. \`berth reap\` tries again each minute.`,
  });
}
