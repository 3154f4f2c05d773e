import { rm } from 'node:fs/promises';
import { asBerthError, type BerthError } from '../../errors/berth-error.ts';
import { asUserThenRoot } from '../../system/as-user.ts';
import { removeStoreArgs } from './repair-store.ts';
import { maxStoreListBytes, storedContainers } from '../../system/stored-containers.ts';
import { readUserFile, firstDirectoryNames } from '../../system/user-file.ts';
import { podmanAsUser } from './podman-as-user.ts';
import type { UserState } from './user-state.ts';

/** Milliseconds. */
const volumesMs = 15_000;

/** For a whole store. Milliseconds. */
const layersMs = 40_000;

/**
 * Removes volumes, locks and layers that podman left in the store of a user without a container.
 *
 * @returns What could not be removed.
 */
export async function removeLeakedStorage(part: UserState): Promise<BerthError[]> {
  const failed: BerthError[] = [];
  for (const [what, remove] of [
    ['volumes', removeVolumes],
    ['layers', removeLayers],
  ] as const) {
    try {
      await remove(part);
    } catch (error) {
      failed.push(asBerthError(error, `removing ${what} that ${part.user.name} left`));
    }
  }
  return failed;
}

/**
 * Volumes, and podman's locks: a podman that was killed after it created a volume and before its container leaves
 * both. All volumes of this store are scratch space of sessions, and podman creates its lock file anew.
 */
async function removeVolumes({ host, owner, user }: UserState): Promise<void> {
  if (host === undefined || (await storedContainers(owner.directory, user)).length > 0) return;
  const volumes = `${owner.directory}/storage/volumes`;
  const left = await asUserThenRoot(user, () => firstDirectoryNames(volumes, 1));
  if (left.length > 0) await podmanAsUser(host, ['volume', 'prune', '--force'], volumesMs);
  const locks = `/dev/shm/libpod_rootless_lock_${user.uid}`;
  await asUserThenRoot(user, () => rm(locks, { force: true }));
}

/**
 * The whole store, if it has layers of removed containers: with a full disk podman cannot record their removal, and
 * no podman command finds them later. Everything in the store can be recreated; images are pulled again.
 */
async function removeLayers({ host, owner, user }: UserState): Promise<void> {
  const store = `${owner.directory}/storage`;
  if (host === undefined || !(await hasLeakedLayers(store, user))) return;
  if ((await storedContainers(owner.directory, user)).length > 0) return;
  await podmanAsUser(host, removeStoreArgs(host, 'all'), layersMs);
}

/** Podman names the layer of a container after the container. */
async function hasLeakedLayers(store: string, user: UserState['user']): Promise<boolean> {
  const demands = { uid: user.uid, maximumBytes: maxStoreListBytes };
  const text = await asUserThenRoot(user, () =>
    readUserFile(`${store}/overlay-layers/layers.json`, demands),
  );
  return text !== undefined && /"berth-[a-z0-9.-]+-layer"/.test(text.toString('latin1'));
}
