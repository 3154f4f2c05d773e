import { lstatSync, rmSync } from 'node:fs';
import { readUserState } from '../../sessions/backends/podman/user-processes.ts';
import {
  parseConnectionId,
  readRecordToClose,
} from '../../sessions/connections/connection-record.ts';
import { isPamClose, runningMonitor } from '../../sessions/connections/sshd-monitor.ts';
import {
  connectionRecordPath,
  type SessionContext,
  userConnectionsDir,
} from '../../sessions/connections/state-paths.ts';
import type { BerthError } from '../../system/errors/berth-error.ts';
import type { User } from '../../system/identity/nss.ts';
import { sessionId } from '../../system/program/session-id.ts';
import { signalProcess, type SignalTarget } from '../../system/end-processes.ts';
import { directoryNames, textIfPresent } from '../../system/if-present.ts';
import { procStatFields, processStartedAt } from '../../system/process-start.ts';
import { isRunningAs, processFacts, type ProcessId } from '../../system/processes.ts';
import {
  beginClosing,
  type ClosingConnection,
  type Connection,
  connectionFilter,
  finishClosing,
} from './close-connection.ts';
import { endConnectionProcesses } from './end-connection-processes.ts';

/** Connections of one user that ended without PAM, and whose cleanup has begun. */
interface GoneConnections {
  /**
   * Ends their processes. It may run while those of other users end, but not while another part of any user's cleanup runs:
   * the others change the credentials of this process.
   */
  readonly endProcesses: () => Promise<void>;
  /**
   * Removes their containers, after their processes were ended.
   *
   * @throws what ending the processes threw
   */
  readonly finish: () => Promise<EndedConnections>;
}

interface EndedConnections {
  readonly processes: number;
  readonly failed: readonly BerthError[];
}

/** After this, a cleanup by the PAM hook has certainly ended. Milliseconds. */
const closingMs = 120_000;

/** After this, a PAM close has certainly ended: it waits twice (close-queue.sh), and is then killed. */
const longestCloseMs = 2 * 40_000 + closingMs + 20_000;

/** @param ids some of `findGoneConnections` */
export async function closeGoneConnections(
  site: SessionContext,
  user: User,
  ids: readonly string[],
): Promise<GoneConnections> {
  const all: (Connection &
    Pick<SessionContext, 'log'> & { readonly closing: ClosingConnection })[] = [];
  for (const id of ids) {
    const file = connectionRecordPath(site, user.uid, id);
    const record = readRecordToClose(file) ?? { user: user.name, ...unknownRecord };
    const session = sessionId(id);
    const log = site.log.with({ user: user.name, session });
    const connection = { id, record, gone: true };
    // One look at what has expired is enough: with the last.
    const skipsExpired = id !== ids.at(-1);
    const place = { ...site, log, session, skipsExpired };
    const closing = await beginClosing(place, user, connection);
    all.push({ ...connection, log, closing });
  }
  const state = await readUserState(site, user);
  let ending: ReturnType<typeof endConnectionProcesses> | undefined;
  const end = async () => await endConnectionProcesses(site, state, all.map(connectionFilter));
  const finish = async (): Promise<EndedConnections> => {
    const endedOf = await (ending ??= end());
    let processes = 0;
    const failed = new Set<BerthError>();
    for (const { id, record, log, closing } of all) {
      const ended = await finishClosing(site, closing, state, endedOf(id));
      processes += ended.processes;
      for (const error of ended.failed) failed.add(error);
      // Otherwise the next run tries again.
      if (ended.failed.length === 0)
        log.info('session closed', {
          by: 'reaper',
          rhost: record.rhost,
          processes: ended.processes,
          containers: ended.containers,
          ...ended.sessions,
        });
      site.spool?.write();
    }
    return { processes, failed: [...failed] };
  };
  return {
    endProcesses: async () => {
      ending = end();
      // `finish` throws it.
      await ending.catch(() => undefined);
    },
    finish,
  };
}

/** Replaces a record that was truncated because the disk was full. The connection's ID is enough to find its processes. */
const unknownRecord = { service: 'sshd', rhost: '', tty: '', opened: 0 };

/**
 * The monitor and PAM's close, if that takes too long, or if the monitor is stopped: users may stop all processes of their login session,
 * root's too (KillSession of logind). Not one that a debugger has stopped.
 *
 * @param now milliseconds since the epoch
 */
export function stuckProcesses(monitor: ProcessId, now: number): readonly SignalTarget[] {
  const { pid } = monitor;
  const children = textIfPresent(`/proc/${pid}/task/${pid}/children`);
  const closes = (children.match(/\d+/g) ?? [])
    .flatMap((child) => processFacts(Number(child), (uid) => uid === 0) ?? [])
    .filter(isPamClose);
  const isLate = closes.some((one) => now - (processStartedAt(one.pid) ?? now) > longestCloseMs);
  return isLate || procStatFields(pid)?.[0] === 'T' ? [...closes, { ...monitor, uid: 0 }] : [];
}

/**
 * Connections whose monitor has ended or is stuck, and those whose cleanup has begun but was not completed. Also removes
 * records that belong to no connection: leftovers of a killed hook, and records that name a process that is not sshd.
 */
export function findGoneConnections(
  site: SessionContext,
  uid: number,
  dryRun: boolean,
): readonly string[] {
  const directory = userConnectionsDir(site, uid);
  const gone = new Set<string>();
  for (const name of directoryNames(directory)) {
    const id = /^([0-9]+\.[0-9]+)(?:\.closing)?$/.exec(name)?.[1];
    const monitor = id === undefined ? undefined : parseConnectionId(id);
    const isServed = monitor !== undefined && runningMonitor(monitor) !== undefined;
    if (isServed && name === id) {
      const stuck = stuckProcesses(monitor, site.now());
      if (stuck.length === 0) continue;
      if (!dryRun) for (const one of stuck) signalProcess(one, 'SIGKILL');
      gone.add(id);
      continue;
    }
    const old = ageOf(`${directory}/${name}`, site.now()) > closingMs;
    const isFalse =
      monitor === undefined ? id !== undefined || old : !isServed && isRunningAs(monitor, 0);
    if (isFalse && !dryRun) rmSync(`${directory}/${name}`, { force: true });
    if (isFalse || id === undefined || monitor === undefined) continue;
    if (!isServed || old) gone.add(id);
  }
  return [...gone];
}

/** Milliseconds since its inode changed, for example by a rename; 0 if it is gone. */
function ageOf(path: string, now: number): number {
  const status = lstatSync(path, { throwIfNoEntry: false });
  return status === undefined ? 0 : now - status.ctimeMs;
}
