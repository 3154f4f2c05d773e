import { rename } from 'node:fs/promises';
import { BerthError } from '../../../system/errors/berth-error.ts';
import { takeLock } from '../../../system/file-lock.ts';
import { ifExists } from '../../../system/if-present.ts';
import { randomDigits } from '../../../system/temporary-name.ts';
import { userStorageDir, type SessionHost } from '../../request/session-host.ts';
import { brokenStores } from './podman-start-errors.ts';
import { containerFilesDir } from './running-container.ts';

/** Runs podman's work for a user. */
export interface PodmanOfUser {
  /** Runs podman with these arguments. */
  readonly podman: (args: readonly string[]) => Promise<unknown>;
  /** Runs work with the user's rights. */
  readonly asOwner: <T>(work: () => Promise<T>) => Promise<T>;
  /** For another process that repairs the store of this user. Milliseconds. */
  readonly timeoutMs: number;
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
  try {
    return await work();
  } catch (error) {
    if (!isBrokenStore(error)) throw error;
  }
  const path = `${containerFilesDir(host.runtimeDir)}/repair.lock`;
  const options = { timeoutMs: user.timeoutMs, foreignStaleMs: 60_000 };
  const lock = await user.asOwner(() => takeLock(path, options));
  try {
    // The last holder may have repaired it.
    return await work();
  } catch (error) {
    if (!isBrokenStore(error)) throw error;
    await repair(host, user, error);
    return await work();
  } finally {
    await user.asOwner(async () => lock?.release());
  }
}

function isBrokenStore(error: unknown): error is BerthError {
  return error instanceof BerthError && brokenStores.some(({ code }) => code === error.code);
}

/**
 * No running container is lost. While one runs, its runtime directory stays the user's (`findRuntimeDir`), and
 * podman finds its processes. All else in the store can be recreated; images are pulled again.
 */
async function repair(
  host: SessionHost,
  { podman, asOwner }: PodmanOfUser,
  { code }: BerthError,
): Promise<void> {
  if (code === 'container-processes-killed') {
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
  const stores = { all: '"$1" "$1".former.*', aside: '"$1".former.*' }[which];
  // Podman has mounted `overlay` over itself in the namespace of the user.
  const script = [
    `for store in ${stores}; do`,
    '  umount "$store/overlay" 2>/dev/null',
    '  rm -rf --one-file-system -- "$store" || failed=1',
    'done',
    'exit "${failed:-0}"',
  ].join('\n');
  return ['unshare', '/bin/sh', '-c', script, 'sh', storeOf(host)];
}

function storeOf(host: Pick<SessionHost, 'storage' | 'user'>): string {
  return `${userStorageDir(host)}/storage`;
}

/** At once, with its database: a podman that starts meanwhile makes a new store, and never finds half of one. */
async function setStoreAside(host: SessionHost): Promise<void> {
  const store = storeOf(host);
  await ifExists(rename(store, `${store}.former.${randomDigits(8)}`));
}
