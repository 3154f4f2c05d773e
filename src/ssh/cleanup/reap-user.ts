import { lstatSync, rmSync } from 'node:fs';
import { readUserState, type UserState } from '../../backends/podman/user-processes.ts';
import {
  type ContainerExpiry,
  findExpiredContainers,
} from '../../backends/podman/clean-up-containers.ts';
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
import { asBerthError, type BerthError } from '../../errors/berth-error.ts';
import { sessionId } from '../../session-id.ts';
import { type User, userOfUid } from '../../identity/nss.ts';
import { directoryNames } from '../../system/if-present.ts';
import { isRunning } from '../../system/processes.ts';
import type { UserService } from '../sessions/list-sessions.ts';
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

interface ReapContext extends SessionContext {
  /** Those of the user. */
  readonly services: readonly UserService[];
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
export async function reapUser(site: ReapContext, uid: number, dryRun: boolean): Promise<UserReap> {
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

async function reap(context: ReapContext, user: User, dryRun: boolean): Promise<UserReap> {
  const site = { ...context, endsConnected: true };
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
  const state = await readUserState(site, user);
  const before = await look(state);
  if (!dryRun && hasLimits(site.settings)) {
    const { enforceLimits } = await import('./enforce-limits.ts');
    failed.push(...(await enforceLimits(site, state, before.all)));
  }
  for (const id of goneConnections(site, user.uid, dryRun)) {
    connections.push({ user: user.name, id });
    if (dryRun) continue;
    const file = connectionRecordPath(site, user.uid, id);
    const record = readConnectionRecord(file) ??
      readConnectionRecord(closingRecordPath(file)) ?? { user: user.name, ...unknownRecord };
    const session = sessionId(id);
    const log = site.log.with({ user: user.name, session });
    const ended = await closeConnection({ ...site, log, session }, user, {
      ...{ id, record, gone: true },
    });
    processes += ended.processes;
    failed.push(...ended.failed);
    // Otherwise the next run tries again.
    if (ended.failed.length === 0)
      log.info('session closed', {
        ...{ by: 'reaper', rhost: record.rhost },
        ...{ processes: ended.processes, containers: ended.containers },
        ...ended.sessions,
      });
    site.spool?.write();
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
    ...{ connections, processes, failed, ownerless: [], services: context.services },
    containers: before.all.flatMap(({ id, name }) =>
      left.has(id) ? [] : [{ user: user.name, name }],
    ),
    sessionsOpen: after.open.size,
    containersLeft: left.size,
  };
}

/** Whether connected users may have to be told or ended: see `enforceLimits`. */
function hasLimits({ profiles, rules }: SessionContext['settings']): boolean {
  return (
    [...profiles.values(), ...rules].some(({ backend }) => backend === 'slurm') ||
    [...profiles.values()].some(
      ({ timeouts: { idleMs, hardMs } }) => (idleMs ?? hardMs) !== undefined,
    )
  );
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
