import { readdir, rm } from 'node:fs/promises';
import type { Lifetime } from '../config/profile.ts';
import { asBerthError, type BerthError } from '../errors.ts';
import { brieflyAsUser } from './briefly-as-user.ts';
import { endProcesses } from '../system/end-processes.ts';
import { pauseFile } from '../session/podman-call.ts';
import { isSupportOf, userProcesses } from './connection-processes.ts';
import { podmanAsUser } from './podman-as-user.ts';
import type { SessionSite } from './session-site.ts';
import { storedContainers, type StoredContainer } from './user-containers.ts';
import type { UserSite } from './user-site.ts';
import { noteFolder } from './warm-container.ts';

/** One container of Berth's in a user's store. */
export interface BerthContainer extends StoredContainer {
  readonly lifetime: Lifetime;
  /** Of a container for one connection. */
  readonly connection: string | undefined;
}

const removalMs = 15_000;
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
 * Removes containers with all that is in them. Where podman cannot, because the disk is full or the
 * storage does not answer, what runs in them is ended all the same; their files wait for the reaper.
 */
export async function removeContainers(
  { owner, host, user }: UserSite,
  containers: readonly BerthContainer[],
): Promise<Removed> {
  if (containers.length === 0 || host === undefined) return { removed: 0, failed: [] };
  const failed: BerthError[] = [];
  try {
    const words = ['rm', '--force', '--volumes', '--ignore', '--time', '0'];
    await podmanAsUser(host, [...words, ...containers.map(({ id }) => id)], removalMs);
  } catch (error) {
    failed.push(asBerthError(error, `removing containers of ${user.name}`));
    const names = new Set(containers.map(({ name }) => name));
    await endProcesses(
      () =>
        userProcesses(owner).filter(
          ({ container }) => container !== undefined && names.has(container),
        ),
      [['SIGKILL', 2_000]],
    );
  }
  await removeNotes({ host, user }, (file) =>
    containers.some(({ name }) => file.startsWith(`${name}.`)),
  );
  return { removed: failed.length === 0 ? containers.length : 0, failed };
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
    const files = await readdir(folder).catch(() => []);
    for (const file of files.filter(isOver)) await rm(`${folder}/${file}`, { force: true });
  });
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
  if (host !== undefined) await brieflyAsUser(user, () => rm(pauseFile(host), { force: true }));
  await removeNotes(part, () => true);
  return ended;
}
