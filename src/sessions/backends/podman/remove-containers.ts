import type { Profile } from '../../../config/schema/profile/profile.ts';
import { notesDirectory } from '../../connections/runtime-dir.ts';
import type { SessionContext } from '../../connections/state-paths.ts';
import { asBerthError, BerthError } from '../../../system/errors/berth-error.ts';
import { asUserThenRoot } from '../../../system/as-user.ts';
import { endProcesses } from '../../../system/end-processes.ts';
import {
  maxStoreListBytes,
  type StoredContainer,
  storedContainers,
} from '../../../system/stored-containers.ts';
import { ifUsable, namesOnMount, readOnMount, unlinkOnMount } from '../../../system/user-file.ts';
import type { RemovalResult } from '../backend.ts';
import { sessionNameParts } from '../own-session.ts';
import {
  isBerthSupport,
  type ProcessOwner,
  userProcesses,
  type UserState,
} from './user-processes.ts';
import { killProcesses } from './kill-processes.ts';
import { lockDirectory } from './argv/podman-argv.ts';
import { podmanAsUser } from './podman-as-user.ts';
import { removeStoreArgs } from './repair-store.ts';
import { removePauseFile } from './running-container.ts';

/** When the container of a profile ends. */
type Limits = Pick<Profile, 'lifetime' | 'timeouts'>;

/** A container of Berth's in a user's store. */
export interface BerthContainer extends StoredContainer, Limits {
  /** Name of the profile. */
  readonly profile: string;
  /** Set for a container that serves one connection. */
  readonly connection: string | undefined;
}

const removalMs = 15_000;
/** Files that are checked; a user has a few. */
const mostFiles = 1_000;
/** For a profile that was removed from the configuration: the container is removed. */
const unknownProfile: Limits = {
  lifetime: { kind: 'user', graceMs: 0, linger: false },
  timeouts: {},
};

/** `berth-PROFILE` and `berth-PROFILE-PID.STARTTIME`; the user's own containers are left alone. */
export async function listBerthContainers(
  { settings }: SessionContext,
  { owner, user }: UserState,
): Promise<readonly BerthContainer[]> {
  const stored = await storedContainers(owner.directory, user);
  return stored.flatMap((container) => {
    const parts = sessionNameParts(container.name);
    if (parts === undefined) return [];
    const { lifetime, timeouts } = settings.profiles.get(parts.profile) ?? unknownProfile;
    return [{ ...container, ...parts, lifetime, timeouts }];
  });
}

/**
 * Removes containers with their processes. If podman fails, because the disk is full, the storage hangs or the
 * user removed the runtime directory, the processes are killed anyway, and the reaper removes the files later.
 */
export async function removeContainers(
  { owner, host, user }: UserState,
  containers: readonly BerthContainer[],
): Promise<RemovalResult> {
  if (containers.length === 0) return { removed: 0, failed: [] };
  const failed: BerthError[] = [];
  const names = new Set(containers.map(({ name }) => name));
  try {
    if (host === undefined)
      throw new BerthError(
        'runtime-directory-missing',
        `containers of ${user.name}: no usable runtime directory (/run/user/${user.uid} or /run/berth/users/${user.uid})`,
        {
          exit: 'temporary',
          hint: 'It must belong to the user, with mode 0700. Once the user has no session, `berth reap` mounts one. Check for a mount over it (findmnt).',
        },
      );
    const args = ['rm', '--force', '--volumes', '--ignore', '--time', '0'];
    await podmanAsUser(host, [...args, ...containers.map(({ id }) => id)], removalMs);
  } catch (error) {
    failed.push(asBerthError(error, `removing containers of ${user.name}`));
    await killInContainers(owner, (name) => names.has(name));
  }
  removeContainerFiles({ host }, (file) =>
    containers.some(({ name }) => file.startsWith(`${name}.`)),
  );
  return { removed: failed.length === 0 ? containers.length : 0, failed };
}

/** Kills all processes in these containers of a user, even if the user's store does not list the containers. */
export async function killInContainers(
  owner: ProcessOwner,
  isWanted: (container: string) => boolean,
): Promise<void> {
  await killProcesses(owner, () =>
    userProcesses(owner).filter(({ container }) => container !== undefined && isWanted(container)),
  );
}

/** Removes the notes and locks that `login` wrote for containers; a killed login leaves its lock. */
export function removeContainerFiles(
  { host }: Pick<UserState, 'host'>,
  isOver: (file: string) => boolean,
): void {
  if (host === undefined) return;
  removeFiles(host.runtimeDir, [notesDirectory], isOver);
}

function removeFiles(
  runtimeDir: string,
  directory: readonly string[],
  isOver: (file: string) => boolean,
): void {
  const files = ifUsable(() => namesOnMount(runtimeDir, directory, mostFiles)) ?? [];
  unlinkOnMount(runtimeDir, directory, files.filter(isOver));
}

/**
 * Ends the processes that keep the namespaces of a user without containers: the pause process, and what a killed
 * podman left. Removes pause.pid too, because podman would join whichever process gets that PID next.
 */
export async function endSupportProcesses(part: UserState): Promise<void> {
  const { owner, host } = part;
  await endProcesses(
    () =>
      userProcesses(owner).filter(
        ({ part, pid }) => part === 'support' && isBerthSupport(owner, pid),
      ),
    [
      ['SIGTERM', 300],
      ['SIGKILL', 2_000],
    ],
  );
  if (host !== undefined) removePauseFile(host);
  removeContainerFiles(part, () => true);
}

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
 * both. All volumes of this store are scratch space of sessions, and no lock is in use. One that was
 * killed while it removed a volume leaves a directory that is in no database: then the store is removed.
 */
async function removeVolumes({ host, owner, user }: UserState): Promise<void> {
  if (host === undefined || (await storedContainers(owner.directory, user)).length > 0) return;
  const isLeft = (): Promise<boolean> =>
    asUserThenRoot(user, () =>
      Promise.resolve(namesOnMount(owner.directory, ['storage', 'volumes'], 1).length > 0),
    );
  if (await isLeft()) await podmanAsUser(host, ['volume', 'prune', '--force'], volumesMs);
  if (await isLeft()) await podmanAsUser(host, removeStoreArgs(host, 'all'), layersMs);
  removeFiles(host.runtimeDir, lockDirectory, () => true);
}

/**
 * The whole store, if it has layers of removed containers: with a full disk podman cannot record their removal, and
 * no podman command finds them later. Everything in the store can be recreated; images are pulled again.
 */
async function removeLayers({ host, owner, user }: UserState): Promise<void> {
  if (host === undefined || !(await hasLeakedLayers(owner.directory, user))) return;
  if ((await storedContainers(owner.directory, user)).length > 0) return;
  await podmanAsUser(host, removeStoreArgs(host, 'all'), layersMs);
}

/** Podman names the layer of a container after the container. */
async function hasLeakedLayers(directory: string, user: UserState['user']): Promise<boolean> {
  const demands = { uid: user.uid, maximumBytes: maxStoreListBytes };
  const names = ['storage', 'overlay-layers', 'layers.json'];
  const text = await asUserThenRoot(user, () =>
    Promise.resolve(readOnMount(directory, names, demands)),
  );
  return text !== undefined && /"berth-[a-z0-9.-]+-layer"/.test(text.toString('latin1'));
}
