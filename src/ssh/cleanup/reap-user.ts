import { lstatSync, rmSync } from 'node:fs';
import { asBerthError, type BerthError } from '../../errors.ts';
import type { User } from '../../identity/user.ts';
import { userOfUid } from '../../identity/user-of-uid.ts';
import { namesIn } from '../../system/names-in.ts';
import { isRunning } from '../../system/processes.ts';
import { endConnection, endPodsOf } from './close-connection.ts';
import { closingFile, monitorOf, readConnection } from '../connections/connection-record.ts';
import { endOver, overdue, type Overdue } from './expired-containers.ts';
import { connectionFile, connectionsOf, type SessionSite } from '../connections/state-paths.ts';
import { unmountRunFolder } from '../connections/runtime-dir-mount.ts';
import { openConnections } from '../connections/user-connections.ts';
import { userSite, type UserSite } from './user-state.ts';

/** What was found and done for one user. */
export interface UserReap {
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

export const nothingReaped: UserReap = {
  ...{ connections: [], processes: 0, containers: [], sessionsOpen: 0 },
  ...{ containersLeft: 0, ownerless: [], failed: [] },
};

/** PAM's hook gives up by itself long before. Milliseconds. */
const closingMs = 120_000;

/** Ends what PAM missed of one user's, and what is past its grace or time. Throws nothing. */
export async function reapUser(site: SessionSite, uid: number, dryRun: boolean): Promise<UserReap> {
  try {
    const user = userOfUid(uid);
    if (user === undefined) {
      if (!dryRun) await unmountRunFolder(site, { uid });
      return { ...nothingReaped, ownerless: [uid] };
    }
    return await reap(site, user, dryRun);
  } catch (error) {
    return { ...nothingReaped, failed: [asBerthError(error, `UID ${uid}`)] };
  }
}

async function reap(site: SessionSite, user: User, dryRun: boolean): Promise<UserReap> {
  const connections: EndedConnection[] = [];
  const failed: BerthError[] = [];
  let processes = 0;
  const look = async (part: UserSite): Promise<Overdue> => {
    try {
      return await overdue(site, part, { note: false });
    } catch (error) {
      // Whatever a user made of the list of containers: connections and processes are seen to.
      if (dryRun) failed.push(asBerthError(error, `containers of ${user.name}`));
      return { open: openConnections(site, user.uid), all: [], over: [] };
    }
  };
  const before = await look(await userSite(site, user));
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
    for (const end of [() => endOver(site, part), () => endPodsOf(site, user)]) {
      try {
        failed.push(...(await end()).failed);
      } catch (error) {
        failed.push(asBerthError(error, `what ${user.name} left`));
      }
    }
  }
  const after = dryRun ? before : await look(part);
  const left = new Set(
    (dryRun ? before.all.filter((one) => !before.over.includes(one)) : after.all).map(
      ({ id }) => id,
    ),
  );
  return {
    ...{ connections, processes, failed, ownerless: [] },
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
