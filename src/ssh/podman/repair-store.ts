import { rename } from 'node:fs/promises';
import { BerthError, isErrno, type ErrorCode } from '../../errors.ts';
import { takeLock } from '../../system/file-lock.ts';
import { randomDigits } from '../../system/random-digits.ts';
import { userStorageDir, type SessionHost } from '../request/session-host.ts';
import { containerFilesDir } from './running-container.ts';

/** Podman's answers about a store with which no podman command works until it is repaired. */
export const brokenStores: readonly { readonly pattern: RegExp; readonly code: ErrorCode }[] = [
  // libpod, ErrDBBadConfig: the user's runtime directory is another one since the host got systemd-logind, or lost it.
  { pattern: /database configuration mismatch/i, code: 'container-database-mismatch' },
  // SetupRootless: by the database a container runs, but all processes of the user were killed.
  { pattern: /could not find any running process/i, code: 'container-processes-killed' },
];

/** Runs podman's work for a user. */
export interface PodmanOfUser {
  /** Runs podman with these arguments. */
  readonly podman: (args: readonly string[]) => Promise<unknown>;
  /** Runs work with the user's rights. */
  readonly asOwner: <T>(work: () => Promise<T>) => Promise<T>;
  /** For another process that repairs the store of this user. Milliseconds. */
  readonly waitMs: number;
}

/**
 * Runs `work`, and if it fails because of a broken store, repairs the store and runs it again. Of several processes
 * at the same moment one repairs, so none ends a container that another one has just started.
 *
 * @throws {BerthError} `lock-timeout`, the errors of `work` and of podman
 */
export async function withRepairedStore<T>(
  host: SessionHost,
  user: PodmanOfUser,
  work: () => Promise<T>,
): Promise<T> {
  const first = await attempt(work);
  if ('done' in first) return first.done;
  const path = `${containerFilesDir(host.runtimeDir)}/repair.lock`;
  const options = { waitMs: user.waitMs, foreignStaleMs: 60_000 };
  const lock = await user.asOwner(() => takeLock(path, options));
  try {
    const second = await attempt(work);
    if ('done' in second) return second.done;
    await repair(host, user, second.broken);
    return await work();
  } finally {
    await user.asOwner(async () => lock?.release());
  }
}

async function attempt<T>(
  work: () => Promise<T>,
): Promise<{ readonly done: T } | { readonly broken: ErrorCode }> {
  try {
    return { done: await work() };
  } catch (error) {
    if (error instanceof BerthError && brokenStores.some(({ code }) => code === error.code))
      return { broken: error.code };
    throw error;
  }
}

/**
 * No running container is lost. While one runs, its runtime directory stays the user's (`findRuntimeDir`), and
 * podman finds its processes. All else in the store can be recreated; images are pulled again.
 */
async function repair(
  host: SessionHost,
  { podman, asOwner }: PodmanOfUser,
  broken: ErrorCode,
): Promise<void> {
  if (broken === 'container-processes-killed') {
    // Records that the containers do not run.
    await podman(['system', 'migrate']);
    return;
  }
  await asOwner(() => setStoreAside(host));
  await podman(removeStoreArgs(host));
}

/** Arguments of podman, to remove the store and those set aside. Only root of the user's namespace may: it has subordinate UIDs. */
export function removeStoreArgs(
  host: Pick<SessionHost, 'storage' | 'user'>,
  which: 'all' | 'aside' = 'aside',
): string[] {
  const store = storeOf(host);
  // Podman has mounted `overlay` over itself in the namespace of the user.
  const script = [
    'for store; do',
    '  umount "$store/overlay" 2>/dev/null',
    '  rm -rf --one-file-system -- "$store" || failed=1',
    'done',
    'exit "${failed:-0}"',
  ].join('\n');
  const named = `set -- ${which === 'all' ? '"$1" ' : ''}"$1".former.*\n${script}`;
  return ['unshare', '/bin/sh', '-c', named, 'sh', store];
}

function storeOf(host: Pick<SessionHost, 'storage' | 'user'>): string {
  return `${userStorageDir(host)}/storage`;
}

/** At once, with its database: a podman that starts meanwhile makes a new store, and never finds half of one. */
async function setStoreAside(host: SessionHost): Promise<void> {
  const store = storeOf(host);
  try {
    await rename(store, `${store}.former.${randomDigits(8)}`);
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error;
  }
}
