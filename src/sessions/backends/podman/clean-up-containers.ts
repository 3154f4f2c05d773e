import { keepsProcesses } from '../../request/keeps-processes.ts';
import { rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { runDir } from '../../../config/schema/default-settings.ts';
import type { Lifetime } from '../../../config/schema/profile/profile.ts';
import type { User } from '../../../system/identity/nss.ts';
import { endProcesses } from '../../../system/end-processes.ts';
import { textIfPresent } from '../../../system/if-present.ts';
import { writePrivateFile } from '../../../system/private-file.ts';
import { runBounded } from '../../../system/run-bounded.ts';
import { ensureRootDirectory } from '../../../system/safe-directories.ts';
import { mountRuntimeDir, unmountRuntimeDir } from '../../connections/mount-runtime-dir.ts';
import { hungNotePath, idleSinceFile, type SessionContext } from '../../connections/state-paths.ts';
import { openConnections } from '../../connections/open-connections.ts';
import { containerNotePath } from './container-notes.ts';
import type { CleanupStep, RemovalResult } from '../backend.ts';
import { withCleanupLock } from '../../connections/user-lock.ts';
import {
  type BerthProcess,
  isBerthSupport,
  readUserState,
  userProcesses,
  type UserState,
} from './user-processes.ts';
import {
  type BerthContainer,
  endSupportProcesses,
  killInContainers,
  listBerthContainers,
  removeContainerFiles,
  removeContainers,
  removeLeakedStorage,
} from './remove-containers.ts';

/** As `Backend.cleanUp`. */
export function containerCleanup(site: SessionContext, connection?: string): CleanupStep[] {
  const ofConnection = (id: string): CleanupStep[] => [
    async (state) => {
      const own = (await listBerthContainers(site, state)).filter((one) => one.connection === id);
      return removeContainers(await withRuntimeDir(site, state, own), own);
    },
    (state) => {
      removeContainerFiles(state, (file) => file.includes(`-${id}.`));
      return Promise.resolve({ removed: 0, failed: [] });
    },
  ];
  return [
    ...(connection === undefined ? [] : ofConnection(connection)),
    ...(site.skipsExpired === true
      ? []
      : [(state: UserState) => removeExpiredContainers(site, state)]),
  ];
}

/**
 * Removes expired containers: those of closed connections, and those whose grace period or time limit is over. After
 * the last container of a user without a connection, ends the support processes that keep the namespaces too.
 *
 * A login during the cleanup is noticed: it writes its record before it checks the lock, and waits for the lock
 * (`registerConnection`).
 *
 * @throws {BerthError} `container-store-unreadable`, `container-store-broken`, `lock-timeout`,
 *   `runtime-directory-not-unmounted`, the errors of `mountRuntimeDir`
 */
async function removeExpiredContainers(
  site: SessionContext,
  state: UserState,
): Promise<RemovalResult> {
  const { uid } = state.user;
  const find = async () => {
    const expiry = await findExpiredContainers(site, state, { note: true });
    return { ...expiry, part: await withRuntimeDir(site, state, expiry.over) };
  };
  return await withCleanupLock(site, uid, 'containers', async () => {
    const { open, all, over, part } = await find().catch(async (error: unknown) => {
      if (openConnections(site, uid).size === 0) await endUnlisted(state);
      throw error;
    });
    const ended = await removeContainers(part, over);
    await removeContainerNotes(
      part.user,
      over.flatMap(({ connection, profile }) => (connection === undefined ? profile : [])),
    );
    if (open.size > 0 || all.length > over.length) return ended;
    await endUnlisted(part);
    const again = mayPassNow(ended) ? await removeAgain(site, part) : ended;
    const failed = [...again.failed, ...(await removeLeakedStorage(part))];
    await endSupportProcesses(await readUserState(site, part.user));
    if (failed.length === 0) {
      rmSync(idleSinceFile(site, uid), { force: true });
      await unmountRuntimeDir(site, part.user);
    }
    return { removed: again.removed, failed };
  });
}

/**
 * For containers that are removed, podman needs a runtime directory too. After a reboot, or any loss of /run, there is none
 * until the next login, which may never come. Sessions that are open keep to what they have.
 *
 * @throws as `mountRuntimeDir`
 */
async function withRuntimeDir(
  site: SessionContext,
  part: UserState,
  containers: readonly BerthContainer[],
): Promise<UserState> {
  const { run, settings } = site;
  const { host, user } = part;
  if (host !== undefined || containers.length === 0 || openConnections(site, user.uid).size > 0)
    return part;
  await mountRuntimeDir({ run, nsenter: settings.podman.nsenter }, user);
  return await readUserState(site, user);
}

/**
 * Kills processes in containers that the store does not list: the user can write the store, so it may list none or
 * be unreadable. Then ends the support processes and podman, which a user can make hang.
 */
async function endUnlisted(part: UserState): Promise<void> {
  await killInContainers(part.owner, (name) => name.startsWith('berth-'));
  await endSupportProcesses(part);
  const podman = (): readonly BerthProcess[] =>
    userProcesses(part.owner).filter(
      (one) => one.part === 'podman' && isBerthSupport(part.owner, one.pid),
    );
  await endProcesses(podman, [
    ['SIGCONT', 3_000],
    ['SIGKILL', 2_000],
  ]);
}

/** Whether a second attempt may succeed. A podman that hung would hang again. */
function mayPassNow({ failed }: RemovalResult): boolean {
  return failed.length > 0 && failed.every(({ code }) => code === 'podman-failed');
}

/** Tries again in new namespaces: podman could not join the old ones, because of what is in pause.pid. */
async function removeAgain(site: SessionContext, { user }: UserState): Promise<RemovalResult> {
  const part = await readUserState(site, user);
  return await removeContainers(part, await listBerthContainers(site, part));
}

export interface ContainerExpiry {
  readonly open: ReadonlySet<string>;
  /** All of Berth's containers in the user's store. */
  readonly all: readonly BerthContainer[];
  readonly over: readonly BerthContainer[];
}

/**
 * Finds the user's expired containers.
 *
 * @param options.note Whether to record that the user is idle from now on, if that is not recorded yet.
 */
export async function findExpiredContainers(
  site: SessionContext,
  part: UserState,
  { note }: { readonly note: boolean },
): Promise<ContainerExpiry> {
  const { uid } = part.user;
  const open = openConnections(site, uid);
  const all = await listBerthContainers(site, part);
  const expiryWith = (processes: readonly BerthProcess[]): ContainerExpiry => {
    const busy = namesOf(processes.filter((one) => one.part === 'inside'));
    const endsNow = site.endsUnused === true && open.size === 0;
    const lingering = all.some(
      ({ name, lifetime }) => waitsForProcesses(lifetime) && busy.has(name),
    );
    const known = lingering ? undefined : readIdle(idleSinceFile(site, uid));
    const idleSince = open.size > 0 ? undefined : (known ?? site.now());
    if (note && idleSince !== undefined && known === undefined && all.length > 0)
      writeIdle(site, uid, idleSince);
    const circumstances = {
      open,
      busy,
      idleSince,
      now: site.now(),
      running: namesOf(processes),
      starting: processes.some((one) => one.part === 'podman'),
      endsConnected: site.endsConnected === true,
    };
    return { open, all, over: all.filter((one) => endsNow || isOver(one, circumstances)) };
  };
  if (all.length === 0) return expiryWith([]);
  const expiry = expiryWith(userProcesses(part.owner, site.looks));
  // Nothing ends because of a process that has started since.
  const isSure = site.looks === undefined || expiry.over.length === 0;
  return isSure ? expiry : expiryWith(userProcesses(part.owner));
}

/** A `user` container whose processes may stay: its grace begins when they have ended. */
function waitsForProcesses(lifetime: Lifetime): boolean {
  return lifetime.kind === 'user' && keepsProcesses(lifetime);
}

function namesOf(processes: readonly BerthProcess[]): ReadonlySet<string> {
  return new Set(processes.flatMap(({ container }) => container ?? []));
}

interface Circumstances {
  readonly open: ReadonlySet<string>;
  /** Names of containers with processes of sessions, and of all that run. */
  readonly busy: ReadonlySet<string>;
  readonly running: ReadonlySet<string>;
  /** Whether podman is running for this user, so that a container may be about to start. */
  readonly starting: boolean;
  /** Milliseconds since the epoch; undefined while there is a connection. */
  readonly idleSince: number | undefined;
  readonly now: number;
  readonly endsConnected: boolean;
}

/** How long podman may take from listing a new container until it runs. Milliseconds. */
const startMs = 60_000;

function isOver(container: BerthContainer, circumstances: Circumstances): boolean {
  const { name, lifetime, timeouts, created, connection } = container;
  const { open, busy, running, starting, idleSince, now, endsConnected } = circumstances;
  if (connection !== undefined)
    return (
      !open.has(connection) || (endsConnected && created + (timeouts.hardMs ?? Infinity) <= now)
    );
  // It ended by itself, or the machine was rebooted.
  if (!running.has(name) && !starting && created + startMs <= now) return true;
  const { softMs = Infinity, hardMs = Infinity } = timeouts;
  if (idleSince === undefined) return endsConnected && created + hardMs <= now;
  if (lifetime.kind === 'connection' || created + Math.min(softMs, hardMs) <= now) return true;
  return !(lifetime.linger && busy.has(name)) && idleSince + lifetime.graceMs <= now;
}

function writeIdle(site: SessionContext, uid: number, since: number): void {
  ensureRootDirectory(`${site.run}/idle`);
  writePrivateFile(idleSinceFile(site, uid), `${since}\n`);
}

function readIdle(file: string): number | undefined {
  const since = Number(textIfPresent(file));
  return Number.isFinite(since) && since > 0 ? since : undefined;
}

/** How long the cleanup waits for the home. Milliseconds. */
const timeoutMs = 2_000;

/**
 * Removes the notes about containers that ended, with the user's rights. In a process of its own, because a home on a file
 * server may hang. If it fails, the note becomes invalid by its age.
 * While one process survives SIGKILL, no further one is started.
 *
 * @param profiles whose containers on this node ended
 */
async function removeContainerNotes(user: User, profiles: readonly string[]): Promise<void> {
  if (profiles.length === 0) return;
  const host = hostname();
  const paths = profiles.map((profile) => containerNotePath(user, { host, profile }));
  const { uid, gid } = user;
  await runBounded('/bin/rm', ['-f', '--', ...paths], {
    env: {},
    user: { uid, gid },
    timeoutMs,
    graceMs: 0,
    note: hungNotePath({ run: runDir }, uid, 'rm'),
  });
}
