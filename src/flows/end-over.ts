import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { isErrno, type BerthError } from '../errors.ts';
import { takeLock } from '../system/owner-lock.ts';
import { isRunning } from '../system/processes.ts';
import { ensureRootFolder } from '../system/root-folders.ts';
import { userProcesses } from './connection-processes.ts';
import { monitorOf } from './connection-record.ts';
import {
  berthContainers,
  endSupport,
  removeContainers,
  type BerthContainer,
} from './end-containers.ts';
import { connectionsFolder, endingLock, idleFile, type SessionSite } from './session-site.ts';
import type { UserSite } from './user-site.ts';
import { writePrivateFile } from '../system/private-file.ts';

export interface EndedOver {
  readonly removed: number;
  readonly failed: readonly BerthError[];
}

/**
 * Ends what has no more reason to be: containers of connections that are gone, those past their time
 * or grace, and after the last container of a user without a connection the namespaces themselves.
 *
 * A login that comes meanwhile waits for the lock (`registerConnection`), or is seen here: it writes its
 * record before it looks for the lock.
 *
 * @throws `store-unreadable`, `lock-timeout`
 */
export async function endOver(site: SessionSite, part: UserSite): Promise<EndedOver> {
  const { uid } = part.user;
  ensureRootFolder(`${site.run}/ending`);
  const lock = await takeLock(endingLock(site, uid), { waitMs: 20_000, foreignStaleMs: 60_000 });
  try {
    const open = openConnections(site, uid);
    const all = await berthContainers(site, part);
    const busy = all.some(lingers) ? busyContainers(part) : none;
    const idleSince = open.size > 0 ? undefined : noteIdle(site, uid, busy.size > 0);
    const over = all.filter((one) => isOver(one, { open, busy, idleSince, now: site.now() }));
    const ended = await removeContainers(part, over);
    if (open.size > 0 || ended.failed.length > 0 || all.length > over.length) return ended;
    await endSupport(part);
    rmSync(idleFile(site, uid), { force: true });
    return ended;
  } finally {
    await lock?.release();
  }
}

/** IDs of the user's connections that sshd serves and nobody closes. */
export function openConnections(site: SessionSite, uid: number): ReadonlySet<string> {
  const names = namesIn(`${connectionsFolder(site)}/${uid}`);
  return new Set(
    names.filter((name) => {
      const monitor = monitorOf(name);
      return monitor !== undefined && isRunning(monitor);
    }),
  );
}

const none: ReadonlySet<string> = new Set();

function lingers({ lifetime }: BerthContainer): boolean {
  return lifetime.kind === 'user' && lifetime.linger;
}

/** Names of containers where somebody's work goes on. */
function busyContainers({ owner }: UserSite): ReadonlySet<string> {
  return new Set(
    userProcesses(owner).flatMap(({ part, container }) =>
      part === 'inside' && container !== undefined ? [container] : [],
    ),
  );
}

interface Circumstances {
  readonly open: ReadonlySet<string>;
  readonly busy: ReadonlySet<string>;
  /** Milliseconds since the epoch; absent while there is a connection. */
  readonly idleSince: number | undefined;
  readonly now: number;
}

function isOver(
  { name, lifetime, created, connection }: BerthContainer,
  { open, busy, idleSince, now }: Circumstances,
): boolean {
  if (connection !== undefined) return !open.has(connection);
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

/** @returns Since when the user has had neither a connection nor work that lingers. */
function noteIdle(site: SessionSite, uid: number, busy: boolean): number {
  const file = idleFile(site, uid);
  const noted = busy ? undefined : readIdle(file);
  if (noted !== undefined) return noted;
  const now = site.now();
  ensureRootFolder(`${site.run}/idle`);
  writePrivateFile(file, `${now}\n`);
  return now;
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

/** Nothing where the folder is not there. */
export function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return [];
    throw error;
  }
}
