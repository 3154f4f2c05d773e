import { rm } from 'node:fs/promises';
import { asBerthError, type BerthError } from '../../errors.ts';
import { someNamesIn } from '../../system/user-file.ts';
import { brieflyAsUser } from '../../system/briefly-as-user.ts';
import { podmanAsUser } from './podman-as-user.ts';
import { storedContainers } from '../../system/stored-containers.ts';
import type { UserSite } from './user-state.ts';

/** Milliseconds. */
const removalMs = 15_000;

/**
 * Removes the volumes of a user without a container, and podman's locks with them: a podman that was
 * killed between a volume and its container leaves both to nobody. All volumes of the store are scratch
 * of sessions; without its file of locks podman makes a new one, as after a boot.
 *
 * @returns What stood against it.
 */
export async function removeLeakedVolumes({ host, owner, user }: UserSite): Promise<BerthError[]> {
  try {
    if (host === undefined || (await storedContainers(owner.folder, user)).length > 0) return [];
    const folder = `${owner.folder}/storage/volumes`;
    const left = await brieflyAsUser(user, () => someNamesIn(folder, 1));
    if (left.length > 0) await podmanAsUser(host, ['volume', 'prune', '--force'], removalMs);
    const locks = `/dev/shm/libpod_rootless_lock_${user.uid}`;
    await brieflyAsUser(user, () => rm(locks, { force: true }));
    return [];
  } catch (error) {
    return [asBerthError(error, `removing volumes that ${user.name} left`)];
  }
}
