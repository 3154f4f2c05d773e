import { lstatSync, rmSync } from 'node:fs';
import { readUserState, type UserState } from '../../backends/podman/user-processes.ts';
import {
  type ContainerExpiry,
  findExpiredContainers,
} from '../../backends/podman/clean-up-containers.ts';
import type { BerthContainer } from '../../backends/podman/remove-containers.ts';
import {
  closingRecordPath,
  parseConnectionId,
  readConnectionRecord,
} from '../../connections/connection-record.ts';
import { unmountRuntimeDir } from '../../connections/mount-runtime-dir.ts';
import { openConnections, runningMonitor } from '../../connections/open-connections.ts';
import {
  connectionRecordPath,
  type SessionContext,
  userConnectionsDir,
} from '../../connections/state-paths.ts';
import { countText } from '../../count-text.ts';
import { asBerthError, type BerthError } from '../../errors/berth-error.ts';
import { type User, userOfUid } from '../../identity/nss.ts';
import { directoryNames } from '../../system/if-present.ts';
import { isRunning } from '../../system/processes.ts';
import { openConnectionsOf, type UserService, userServices } from '../sessions/list-sessions.ts';
import { connectionUsages } from '../sessions/session-processes.ts';
import { tellSessions } from '../sessions/session-terminal.ts';
import { cleanupSteps, closeConnection, runCleanupSteps } from './close-connection.ts';

/** What was found and done for one user. With a dry run: what would be done. */
export interface UserReap {
  /** Connections that ended without PAM. */
  readonly connections: readonly EndedConnection[];
  readonly processes: number;
  /** Names of removed containers, with their user. */
  readonly containers: readonly { readonly user: string; readonly name: string }[];
  /** Connections and containers that remain. */
  readonly sessionsOpen: number;
  readonly containersLeft: number;
  /** What systemd's managers of users run on this host, for an admin to check; it is not ended. */
  readonly services: readonly UserService[];
  /** UIDs without an account that have a storage, for an admin to check. */
  readonly ownerless: readonly number[];
  readonly failed: readonly BerthError[];
}

export interface EndedConnection {
  readonly user: string;
  readonly id: string;
}

export const emptyReap: UserReap = {
  ...{ connections: [], processes: 0, containers: [], sessionsOpen: 0 },
  ...{ containersLeft: 0, services: [], ownerless: [], failed: [] },
};

/** After this, a cleanup by the PAM hook has certainly ended. Milliseconds. */
const closingMs = 120_000;

/** Ends what PAM missed for one user, and what has expired. Never throws. */
export async function reapUser(
  site: SessionContext,
  uid: number,
  dryRun: boolean,
): Promise<UserReap> {
  try {
    const user = userOfUid(uid);
    if (user === undefined) {
      if (!dryRun) await unmountRuntimeDir(site, { uid });
      return { ...emptyReap, ownerless: [uid] };
    }
    return await reap(site, user, dryRun);
  } catch (error) {
    return { ...emptyReap, failed: [asBerthError(error, `UID ${uid}`)] };
  }
}

async function reap(site: SessionContext, user: User, dryRun: boolean): Promise<UserReap> {
  const connections: EndedConnection[] = [];
  const failed: BerthError[] = [];
  let processes = 0;
  const look = async (part: UserState): Promise<ContainerExpiry> => {
    try {
      return await findExpiredContainers(site, part, { note: false });
    } catch (error) {
      // Connections and processes are handled even if the user has damaged the list of containers.
      if (dryRun) failed.push(asBerthError(error, `containers of ${user.name}`));
      return { open: openConnections(site, user.uid), all: [], over: [] };
    }
  };
  const before = await look(await readUserState(site, user));
  if (!dryRun) warnOfEnd(site, user.uid, before.all);
  for (const id of goneConnections(site, user.uid, dryRun)) {
    connections.push({ user: user.name, id });
    if (dryRun) continue;
    const file = connectionRecordPath(site, user.uid, id);
    const record = readConnectionRecord(file) ??
      readConnectionRecord(closingRecordPath(file)) ?? { user: user.name, ...unknownRecord };
    const ended = await closeConnection(site, user, { id, record, gone: true });
    processes += ended.processes;
    failed.push(...ended.failed);
    site.log.info('session closed', {
      ...{ user: user.name, connection: id, by: 'reaper', rhost: record.rhost },
      ...{ processes: ended.processes, containers: ended.containers },
    });
  }
  const part = await readUserState(site, user);
  if (!dryRun) {
    const steps = await cleanupSteps(site, user);
    failed.push(...(await runCleanupSteps(part, steps)).failed);
  }
  const after = dryRun ? before : await look(part);
  const left = new Set(
    (dryRun ? before.all.filter((one) => !before.over.includes(one)) : after.all).map(
      ({ id }) => id,
    ),
  );
  return {
    ...{ connections, processes, failed, ownerless: [], services: userServices(user.uid) },
    containers: before.all.flatMap(({ id, name }) =>
      left.has(id) ? [] : [{ user: user.name, name }],
    ),
    sessionsOpen: after.open.size,
    containersLeft: left.size,
  };
}

/** Replaces a record that was truncated because the disk was full. The connection's ID is enough to find its processes. */
const unknownRecord = { service: 'sshd', rhost: '', tty: '', opened: 0 };

/**
 * Connections whose monitor has ended, and those whose cleanup has begun but was not completed. Also removes
 * records that belong to no connection: leftovers of a killed hook, and records that name a process that is not sshd.
 */
function goneConnections(site: SessionContext, uid: number, dryRun: boolean): ReadonlySet<string> {
  const directory = userConnectionsDir(site, uid);
  const gone = new Set<string>();
  for (const name of directoryNames(directory)) {
    const id = /^([0-9]+\.[0-9]+)(?:\.closing)?$/.exec(name)?.[1];
    const monitor = id === undefined ? undefined : parseConnectionId(id);
    const old = ageOf(`${directory}/${name}`, site.now()) > closingMs;
    const isFalse =
      monitor === undefined
        ? id !== undefined || old
        : isRunning(monitor) && runningMonitor(monitor) === undefined;
    if (isFalse && !dryRun) rmSync(`${directory}/${name}`, { force: true });
    if (isFalse || id === undefined || monitor === undefined) continue;
    if (!isRunning(monitor) || (name !== id && old)) gone.add(id);
  }
  return gone;
}

/** Milliseconds since its inode changed, for example by a rename; 0 if it is gone. */
function ageOf(path: string, now: number): number {
  const status = lstatSync(path, { throwIfNoEntry: false });
  return status === undefined ? 0 : now - status.ctimeMs;
}

/** How long before its end the users of a container are told. Milliseconds. */
const lastCallMs = 300_000;

/**
 * Tells the user at the terminals of these containers that they end soon, or now: one whose `lifetime` is a duration ends
 * then, whoever is connected. Called by the reaper, so it is repeated about once a minute, as by shutdown(8).
 */
function warnOfEnd(
  site: Pick<SessionContext, 'run' | 'settings' | 'now'>,
  uid: number,
  containers: readonly BerthContainer[],
): void {
  const ending = containers.flatMap(({ name, profile, lifetime, created }) => {
    if (lifetime.kind !== 'duration') return [];
    const leftMs = created + lifetime.durationMs - site.now();
    const isTold = leftMs <= lastCallMs && site.settings.profiles.get(profile)?.notices !== false;
    return isTold ? [{ name, leftMs }] : [];
  });
  if (ending.length === 0) return;
  const usages = [...connectionUsages(openConnectionsOf(site.run, uid)).values()];
  for (const { name, leftMs } of ending) {
    const minutes = countText(Math.ceil(leftMs / 60_000), 'minute');
    const when = leftMs > 0 ? `in about ${minutes}. Save your work.` : 'now.';
    const sessions = usages.flatMap(({ container, terminals }) =>
      container === name ? { uid, terminals } : [],
    );
    tellSessions(
      sessions,
      `The lifetime of your container ${name} is nearly over: it ends ${when}`,
    );
  }
}
