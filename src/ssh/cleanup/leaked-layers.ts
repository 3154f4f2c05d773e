import { asBerthError, type BerthError } from '../../errors.ts';
import { readUserFile } from '../../system/user-file.ts';
import { brieflyAsUser } from '../../system/briefly-as-user.ts';
import { podmanAsUser } from './podman-as-user.ts';
import { longestStoreList, storedContainers } from '../../system/stored-containers.ts';
import type { UserSite } from './user-state.ts';

/** A whole store that nobody uses. Milliseconds. */
const removalMs = 40_000;

/**
 * Removes the store of a user without a container where layers of containers are left in it: podman
 * could not write that it had removed them, because the disk was full, and has no command that finds
 * them again. Everything in it can be had anew; images that were pulled into it are pulled again.
 *
 * @returns What stood against it.
 */
export async function removeLeakedLayers({ host, owner, user }: UserSite): Promise<BerthError[]> {
  const store = `${owner.folder}/storage`;
  try {
    if (host === undefined || !(await hasLeakedLayers(store, user))) return [];
    if ((await storedContainers(owner.folder, user)).length > 0) return [];
    // Files of subordinate UIDs: only root of the user's namespace can remove them.
    await podmanAsUser(host, ['unshare', '/bin/rm', '-rf', '--', store], removalMs);
    return [];
  } catch (error) {
    return [asBerthError(error, `removing layers that ${user.name} left`)];
  }
}

/** Podman names the layer of a container after it. */
async function hasLeakedLayers(store: string, user: UserSite['user']): Promise<boolean> {
  const demands = { uid: user.uid, maximumBytes: longestStoreList };
  const text = await brieflyAsUser(user, () =>
    readUserFile(`${store}/overlay-layers/layers.json`, demands),
  );
  return text !== undefined && /"berth-[a-z0-9.-]+-layer"/.test(text.toString('latin1'));
}
