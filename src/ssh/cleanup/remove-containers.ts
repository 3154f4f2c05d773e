import { unlink } from 'node:fs/promises';
import type { Lifetime } from '../../config/profile/profile.ts';
import { asBerthError, BerthError, isErrno } from '../../errors.ts';
import { brieflyAsUser } from '../../system/briefly-as-user.ts';
import { endProcesses } from '../../system/end-processes.ts';
import { someNamesIn } from '../../system/user-file.ts';
import { isSupportOf, userProcesses, type ProcessOwner } from './connection-processes.ts';
import { removePauseFile } from '../connections/pause-file.ts';
import { podmanAsUser } from './podman-as-user.ts';
import type { SessionSite } from '../connections/state-paths.ts';
import { storedContainers, type StoredContainer } from '../../system/stored-containers.ts';
import type { UserSite } from './user-state.ts';
import { noteFolder } from '../podman/running-container.ts';

/** One container of Berth's in a user's store. */
export interface BerthContainer extends StoredContainer {
  readonly lifetime: Lifetime;
  /** Of a container for one connection. */
  readonly connection: string | undefined;
}

const removalMs = 15_000;
/** A user has a few; more are left to the user. */
const mostNotes = 1_000;
/** Of a profile that is gone from the configuration: nothing is to stay. */
const unknownProfile: Lifetime = { kind: 'user', graceMs: 0, linger: false };

/** `berth-PROFILE` and `berth-PROFILE-PID.STARTTIME`; the user's own containers are not looked at. */
export async function berthContainers(
  { settings }: SessionSite,
  { owner, user }: UserSite,
): Promise<readonly BerthContainer[]> {
  const stored = await storedContainers(owner.folder, user);
  return stored.flatMap((container) => {
    const [, name, connection] =
      /^berth-([a-z0-9-]+?)(?:-([0-9]+\.[0-9]+))?$/.exec(container.name) ?? [];
    if (name === undefined) return [];
    const lifetime = settings.profiles.get(name)?.lifetime ?? unknownProfile;
    return [{ ...container, lifetime, connection }];
  });
}

export interface Removed {
  readonly removed: number;
  readonly failed: readonly BerthError[];
}

/**
 * Removes containers with all that is in them. Where podman cannot, because the disk is full, the storage
 * does not answer or the user has taken the run folder away, what runs in them is ended all the same;
 * their files wait for the reaper.
 */
export async function removeContainers(
  { owner, host, user }: UserSite,
  containers: readonly BerthContainer[],
): Promise<Removed> {
  if (containers.length === 0) return { removed: 0, failed: [] };
  const failed: BerthError[] = [];
  const names = new Set(containers.map(({ name }) => name));
  try {
    if (host === undefined) throw runFolderGone(user);
    const words = ['rm', '--force', '--volumes', '--ignore', '--time', '0'];
    await podmanAsUser(host, [...words, ...containers.map(({ id }) => id)], removalMs);
  } catch (error) {
    failed.push(asBerthError(error, `removing containers of ${user.name}`));
    await endInside(owner, (name) => names.has(name));
  }
  await removeNotes({ host, user }, (file) =>
    containers.some(({ name }) => file.startsWith(`${name}.`)),
  );
  return { removed: failed.length === 0 ? containers.length : 0, failed };
}

/** Ends what runs in these containers of a user, whatever the user's store says of them. */
export async function endInside(
  owner: ProcessOwner,
  isWanted: (container: string) => boolean,
): Promise<void> {
  await endProcesses(
    () =>
      userProcesses(owner).filter(
        ({ container }) => container !== undefined && isWanted(container),
      ),
    [['SIGKILL', 2_000]],
  );
}

function runFolderGone({ name, uid }: UserSite['user']): BerthError {
  return new BerthError(
    `containers of ${name}: there is no usable runtime directory (/run/user/${uid} or /run/berth/users/${uid})`,
    {
      code: 'run-folder-missing',
      exit: 'temporary',
      hint: 'It must belong to the user, with mode 0700; the next login creates it. Look for a mount over it.',
    },
  );
}

/**
 * Removes notes and locks of `login` for containers: who is killed leaves a lock that nobody of another
 * connection will ever ask for.
 */
export async function removeNotes(
  { host, user }: Pick<UserSite, 'host' | 'user'>,
  isOver: (file: string) => boolean,
): Promise<void> {
  if (host === undefined) return;
  const folder = noteFolder(host.runFolder);
  await brieflyAsUser(user, async () => {
    const files = await someNamesIn(folder, mostNotes);
    for (const file of files.filter(isOver)) await removeNote(`${folder}/${file}`);
  });
}

/** What the user put there in place of a note is in nobody's way but the user's. */
async function removeNote(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (error) {
    if (!isErrno(error)) throw error;
  }
}

/**
 * Ends what keeps the namespaces of a user who has no container any more: the pause process, and what
 * a killed podman left. pause.pid goes with it: podman would join whoever gets that number next.
 */
export async function endSupport(part: UserSite): Promise<number> {
  const { owner, host, user } = part;
  const { ended } = await endProcesses(
    () =>
      userProcesses(owner).filter(({ part, pid }) => part === 'support' && isSupportOf(owner, pid)),
    [
      ['SIGTERM', 300],
      ['SIGKILL', 2_000],
    ],
  );
  if (host !== undefined) await brieflyAsUser(user, () => removePauseFile(host));
  await removeNotes(part, () => true);
  return ended;
}
