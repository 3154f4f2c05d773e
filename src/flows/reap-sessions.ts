import { lstatSync, rmSync } from 'node:fs';
import { asBerthError, type BerthError } from '../errors.ts';
import type { User } from '../identity/user.ts';
import { userOfUid } from '../identity/user-of-uid.ts';
import { namesIn } from '../system/names-in.ts';
import { takeLock } from '../system/owner-lock.ts';
import { isRunning, runningProcesses } from '../system/processes.ts';
import { ensureRootFolder } from '../system/root-folders.ts';
import { writePrivateFile } from '../system/private-file.ts';
import { endConnection, endPodsOf } from './close-connection.ts';
import { closingFile, monitorOf, readConnection } from './connection-record.ts';
import { endOver, overdue } from './end-over.ts';
import {
  connectionFile,
  connectionsFolder,
  connectionsOf,
  type SessionSite,
} from './session-site.ts';
import { userSite } from './user-site.ts';

export interface ReapReport {
  /** Another reaper was at work, and this one did nothing. */
  readonly busy: boolean;
  /** Connections that ended without PAM. */
  readonly connections: readonly EndedConnection[];
  readonly processes: number;
  /** Names of containers that were removed, by user. */
  readonly containers: readonly { readonly user: string; readonly name: string }[];
  /** Connections and containers that go on. */
  readonly sessionsOpen: number;
  readonly containersLeft: number;
  /** UIDs that no account has, and whose storage is there: to be looked at by an admin. */
  readonly ownerless: readonly number[];
  readonly failed: readonly BerthError[];
}

export interface EndedConnection {
  readonly user: string;
  readonly id: string;
}

export interface ReapOptions {
  /** Only say what would be done. */
  readonly dryRun: boolean;
  /** How long to wait for another reaper. Milliseconds. */
  readonly waitMs: number;
}

/** A storage of thousands of users is not looked through each minute. Milliseconds. */
const sweepEveryMs = 3_600_000;
/** PAM's hook gives up by itself long before. Milliseconds. */
const closingMs = 120_000;

/**
 * Finds what PAM's close missed, because sshd was killed or the machine was booted, and what is past
 * its grace or time. What it cannot end now, it tries again the next time.
 *
 * @throws `lock-timeout`, errors of the system with root's own folders
 */
export async function reapSessions(site: SessionSite, options: ReapOptions): Promise<ReapReport> {
  ensureRootFolder(site.run);
  if (options.dryRun) return reapAll(site, true);
  const lock = `${site.run}/reap.lock`;
  let held;
  try {
    held = await takeLock(lock, { waitMs: options.waitMs, foreignStaleMs: 600_000 });
  } catch (error) {
    if (asBerthError(error, 'reap').code === 'lock-timeout') return { ...nothing, busy: true };
    throw error;
  }
  try {
    return await reapAll(site, false);
  } finally {
    await held?.release();
  }
}

const nothing: ReapReport = {
  ...{ busy: false, connections: [], processes: 0, containers: [], sessionsOpen: 0 },
  ...{ containersLeft: 0, ownerless: [], failed: [] },
};

async function reapAll(site: SessionSite, dryRun: boolean): Promise<ReapReport> {
  let report = nothing;
  for (const uid of candidates(site, dryRun)) {
    try {
      const user = userOfUid(uid);
      report =
        user === undefined
          ? { ...report, ownerless: [...report.ownerless, uid] }
          : added(report, await reapUser(site, user, dryRun));
    } catch (error) {
      report = { ...report, failed: [...report.failed, asBerthError(error, `UID ${uid}`)] };
    }
  }
  return report;
}

async function reapUser(site: SessionSite, user: User, dryRun: boolean): Promise<ReapReport> {
  const connections: EndedConnection[] = [];
  const failed: BerthError[] = [];
  let processes = 0;
  const before = await overdue(site, await userSite(site, user), { note: false });
  for (const id of goneConnections(site, user.uid)) {
    connections.push({ user: user.name, id });
    if (dryRun) continue;
    const file = connectionFile(site, user.uid, id);
    const record = readConnection(file) ??
      readConnection(closingFile(file)) ?? { user: user.name, ...unknownRecord };
    const ended = await endConnection(site, user, { id, record, gone: true });
    processes += ended.processes;
    failed.push(...ended.failed);
    site.log.info('session closed', {
      ...{ user: user.name, connection: id, by: 'reaper', rhost: record.rhost },
      ...{ processes: ended.processes, containers: ended.containers },
    });
  }
  const part = await userSite(site, user);
  if (!dryRun) {
    failed.push(...(await endOver(site, part)).failed);
    failed.push(...(await endPodsOf(site, user)).failed);
  }
  const after = dryRun ? before : await overdue(site, part, { note: false });
  const left = new Set(
    (dryRun ? before.all.filter((one) => !before.over.includes(one)) : after.all).map(
      ({ id }) => id,
    ),
  );
  return {
    ...{ busy: false, connections, processes, failed, ownerless: [] },
    containers: before.all.flatMap(({ id, name }) =>
      left.has(id) ? [] : [{ user: user.name, name }],
    ),
    sessionsOpen: after.open.size,
    containersLeft: left.size,
  };
}

/** Of a record that a full disk cut short: its processes are known by the connection's ID. */
const unknownRecord = { service: 'sshd', rhost: '', tty: '', opened: 0 };

/** Connections whose monitor is gone, and those whose end was begun and never done. */
function goneConnections(site: SessionSite, uid: number): ReadonlySet<string> {
  const folder = connectionsOf(site, uid);
  const gone = new Set<string>();
  for (const name of namesIn(folder)) {
    const id = /^([0-9]+\.[0-9]+)(?:\.closing)?$/.exec(name)?.[1];
    const monitor = id === undefined ? undefined : monitorOf(id);
    const age = ageOf(`${folder}/${name}`, site.now());
    if (id === undefined || monitor === undefined) {
      // Half a record of a killed hook.
      if (age > closingMs) rmSync(`${folder}/${name}`, { force: true });
    } else if (!isRunning(monitor) || (name !== id && age > closingMs)) gone.add(id);
  }
  return gone;
}

/** Milliseconds since it was changed, its name too; 0 where it is gone. */
function ageOf(path: string, now: number): number {
  const status = lstatSync(path, { throwIfNoEntry: false });
  return status === undefined ? 0 : now - status.ctimeMs;
}

/**
 * UIDs of whom something may be left: those with a record, those whose containers run, and once after
 * each boot and each hour everybody who has a storage.
 */
function candidates(site: SessionSite, dryRun: boolean): readonly number[] {
  const uids = new Set<number>();
  const add = (names: readonly string[]): void => {
    for (const name of names) if (/^[1-9][0-9]*$/.test(name)) uids.add(Number(name));
  };
  const storage = namesIn(`${site.settings.storage}/users`);
  add(namesIn(connectionsFolder(site)));
  add(namesIn(`${site.run}/idle`));
  add(namesIn(`${site.run}/pods`));
  const swept = lstatSync(`${site.run}/swept`, { throwIfNoEntry: false });
  if (dryRun || swept === undefined || site.now() - swept.mtimeMs > sweepEveryMs) {
    add(storage);
    if (!dryRun) writePrivateFile(`${site.run}/swept`, '');
  } else {
    const running = new Set([...runningProcesses()].map(({ uid }) => String(uid)));
    add(storage.filter((name) => running.has(name)));
  }
  return [...uids].sort((a, b) => a - b);
}

function added(one: ReapReport, other: ReapReport): ReapReport {
  return {
    busy: one.busy,
    connections: [...one.connections, ...other.connections],
    processes: one.processes + other.processes,
    containers: [...one.containers, ...other.containers],
    sessionsOpen: one.sessionsOpen + other.sessionsOpen,
    containersLeft: one.containersLeft + other.containersLeft,
    ownerless: [...one.ownerless, ...other.ownerless],
    failed: [...one.failed, ...other.failed],
  };
}
