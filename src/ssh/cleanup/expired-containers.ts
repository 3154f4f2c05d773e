import { readFileSync, rmSync } from 'node:fs';
import type { Lifetime } from '../../config/profile/profile.ts';
import { isErrno } from '../../errors.ts';
import { ensureRootFolder } from '../../system/root-folders.ts';
import { endProcesses } from '../../system/end-processes.ts';
import { isSupportOf, userProcesses, type BerthProcess } from './connection-processes.ts';
import {
  berthContainers,
  endInside,
  endSupport,
  removeContainers,
  type BerthContainer,
  type Removed,
} from './remove-containers.ts';
import { endTogether } from './cleanup-lock.ts';
import { removeLeakedVolumes } from './leaked-volumes.ts';
import { removeLeakedLayers } from './leaked-layers.ts';
import { idleFile, type SessionSite } from '../connections/state-paths.ts';
import { unmountRunFolder } from '../connections/runtime-dir-mount.ts';
import { openConnections } from '../connections/user-connections.ts';
import { userSite, type UserSite } from './user-state.ts';
import { writePrivateFile } from '../../system/private-file.ts';

/**
 * Ends what has no more reason to be: containers of connections that are gone, those past their time
 * or grace, and after the last container of a user without a connection the namespaces themselves.
 *
 * A login that comes meanwhile waits for the lock (`registerConnection`), or is seen here: it writes its
 * record before it looks for the lock.
 *
 * @throws `store-unreadable`, `store-broken`, `lock-timeout`, `run-folder-not-unmounted`
 */
export async function endOver(site: SessionSite, part: UserSite): Promise<Removed> {
  const { uid } = part.user;
  return await endTogether(site, uid, 'containers', async () => {
    const { open, all, over } = await overdue(site, part, { note: true }).catch(
      async (error: unknown) => {
        if (openConnections(site, uid).size === 0) await endUnlisted(part);
        throw error;
      },
    );
    const ended = await removeContainers(part, over);
    if (open.size > 0 || all.length > over.length) return ended;
    await endUnlisted(part);
    const again = mayPassNow(ended) ? await removeAgain(site, part) : ended;
    const failed = [
      ...again.failed,
      ...(await removeLeakedVolumes(part)),
      ...(await removeLeakedLayers(part)),
    ];
    await endSupport(await userSite(site, part.user));
    if (failed.length === 0) {
      rmSync(idleFile(site, uid), { force: true });
      await unmountRunFolder(site, part.user);
    }
    return { removed: again.removed, failed };
  });
}

/**
 * Ends what runs in containers though the user's store, which the user can write, says that there is none,
 * or nothing that podman would say; then what kept them, and conmon's podman, which a user can hold up.
 */
async function endUnlisted(part: UserSite): Promise<void> {
  await endInside(part.owner, (name) => name.startsWith('berth-'));
  await endSupport(part);
  const podman = (): readonly BerthProcess[] =>
    userProcesses(part.owner).filter(
      (one) => one.part === 'podman' && isSupportOf(part.owner, one.pid),
    );
  await endProcesses(podman, [
    ['SIGCONT', 3_000],
    ['SIGKILL', 2_000],
  ]);
}

/** Podman that hung would hang again: its user holds a lock, or the storage does not answer. */
function mayPassNow({ failed }: Removed): boolean {
  return failed.length > 0 && failed.every(({ code }) => code === 'podman-failed');
}

/** In namespaces made anew: podman could not join the former ones, because of what is in pause.pid. */
async function removeAgain(site: SessionSite, { user }: UserSite): Promise<Removed> {
  const part = await userSite(site, user);
  return await removeContainers(part, await berthContainers(site, part));
}

export interface Overdue {
  readonly open: ReadonlySet<string>;
  /** All containers of Berth's in the user's store. */
  readonly all: readonly BerthContainer[];
  readonly over: readonly BerthContainer[];
}

/**
 * Which of the user's containers have no more reason to be.
 *
 * @param options.note Whether to note that the user is idle from now on, where that was not known.
 */
export async function overdue(
  site: SessionSite,
  part: UserSite,
  { note }: { readonly note: boolean },
): Promise<Overdue> {
  const { uid } = part.user;
  const open = openConnections(site, uid);
  const all = await berthContainers(site, part);
  const processes = all.length > 0 ? userProcesses(part.owner) : [];
  const busy = namesOf(processes.filter((one) => one.part === 'inside'));
  const lingering = all.some(({ name, lifetime }) => lingers(lifetime) && busy.has(name));
  const known = lingering ? undefined : readIdle(idleFile(site, uid));
  const idleSince = open.size > 0 ? undefined : (known ?? site.now());
  if (note && idleSince !== undefined && known === undefined && all.length > 0)
    writeIdle(site, uid, idleSince);
  const circumstances = {
    ...{ open, busy, idleSince, now: site.now(), running: namesOf(processes) },
    starting: processes.some((one) => one.part === 'podman'),
  };
  return { open, all, over: all.filter((one) => isOver(one, circumstances)) };
}

function lingers(lifetime: Lifetime): boolean {
  return lifetime.kind === 'user' && lifetime.linger;
}

function namesOf(processes: readonly BerthProcess[]): ReadonlySet<string> {
  return new Set(processes.flatMap(({ container }) => container ?? []));
}

interface Circumstances {
  readonly open: ReadonlySet<string>;
  /** Names of containers where somebody's work goes on, and of those that run at all. */
  readonly busy: ReadonlySet<string>;
  readonly running: ReadonlySet<string>;
  /** Podman is at work for this user: a container that does not run may be about to. */
  readonly starting: boolean;
  /** Milliseconds since the epoch; absent while there is a connection. */
  readonly idleSince: number | undefined;
  readonly now: number;
}

/** What a container that does not run waits for: podman, which lists it before it runs. Milliseconds. */
const startMs = 60_000;

function isOver(container: BerthContainer, circumstances: Circumstances): boolean {
  const { name, lifetime, created, connection } = container;
  const { open, busy, running, starting, idleSince, now } = circumstances;
  if (connection !== undefined) return !open.has(connection);
  // It ended by itself, or the machine was booted since.
  if (!running.has(name) && !starting && created + startMs <= now) return true;
  switch (lifetime.kind) {
    case 'duration':
      return created + lifetime.durationMs <= now;
    case 'connection':
      return idleSince !== undefined;
    case 'user':
      if (idleSince === undefined || (lifetime.linger && busy.has(name))) return false;
      return idleSince + lifetime.graceMs <= now;
  }
}

function writeIdle(site: SessionSite, uid: number, since: number): void {
  ensureRootFolder(`${site.run}/idle`);
  writePrivateFile(idleFile(site, uid), `${since}\n`);
}

function readIdle(file: string): number | undefined {
  try {
    const since = Number(readFileSync(file, 'latin1'));
    return Number.isFinite(since) && since > 0 ? since : undefined;
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}
