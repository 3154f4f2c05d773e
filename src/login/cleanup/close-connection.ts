import { rmSync } from 'node:fs';
import type { CleanupStep, RemovalResult } from '../../sessions/backends/backend.ts';
import { backendsIn } from '../../sessions/backends/backends.ts';
import {
  type ConnectionFilter,
  readUserState,
  type UserState,
} from '../../sessions/backends/podman/user-processes.ts';
import { asBerthError, type BerthError } from '../../system/errors/berth-error.ts';
import type { User } from '../../system/identity/nss.ts';
import {
  closingRecordPath,
  markClosing,
  type ConnectionRecord,
} from '../../sessions/connections/connection-record.ts';
import { type NotedSessions, takeSessionNotes } from '../../sessions/connections/session-notes.ts';
import { removeConnectionCgroups } from '../../sessions/connections/connection-cgroup.ts';
import {
  connectionRecordPath,
  type SessionContext,
} from '../../sessions/connections/state-paths.ts';
import type { LogEventFields } from '../../system/text/log-events.ts';
import { endConnectionProcesses, type EndedProcesses } from './end-connection-processes.ts';

export interface ClosedConnection {
  readonly processes: number;
  readonly containers: number;
  /** What could not be removed; the reaper tries again. */
  readonly failed: readonly BerthError[];
  /** What the last line about the connection says of its sessions. */
  readonly sessions: LogEventFields<'session closed'>;
}

/** The connection that is closed. */
export interface Connection {
  readonly id: string;
  readonly record: ConnectionRecord;
  /** Whether sshd's monitor has ended, so that sshd's other process of the connection is ended too. */
  readonly gone: boolean;
}

/**
 * Ends what one connection started: its processes and its containers. Also removes
 * containers and pods whose lifetime or grace period is over. Repeated or concurrent calls have the same effect as one.
 */
export async function closeConnection(
  site: SessionContext,
  user: User,
  connection: Connection,
): Promise<ClosedConnection> {
  const closing = await beginClosing(site, user, connection);
  const state = await readUserState(site, user);
  const endedOf = await endConnectionProcesses(site, state, [connectionFilter(connection)]);
  return finishClosing(site, closing, state, endedOf(connection.id));
}

/** A connection that is not open any more, and whose cleanup has begun. */
export interface ClosingConnection {
  readonly file: string;
  readonly steps: readonly CleanupStep[];
  readonly noted: NotedSessions;
}

/** The part of `closeConnection` before its processes are ended. */
export async function beginClosing(
  site: SessionContext,
  user: User,
  { id }: Connection,
): Promise<ClosingConnection> {
  const file = connectionRecordPath(site, user.uid, id);
  const steps = await cleanupSteps(site, user, id);
  // From here on the connection is not open, and the reaper continues if this process is killed.
  markClosing(file);
  // Before the cleanup, which removes the user's files in the runtime directory.
  const noted = takeSessionNotes(site.settings, user, id);
  for (const one of noted.started) site.spool?.add('session started', { ...one });
  for (const code of noted.failed) site.spool?.add('session not started', { code });
  // At once: the notes are removed, and the cleanup may be killed.
  site.spool?.write();
  return { file, steps, noted };
}

/** Which processes are the connection's. */
export function connectionFilter({ id, record, gone }: Connection): ConnectionFilter {
  const hostProcesses = record.hostProcesses === true;
  return { id, session: record.session, orphanedSshd: gone, hostProcesses };
}

/** The part of `closeConnection` after its processes were ended. */
export async function finishClosing(
  site: SessionContext,
  { file, steps, noted }: ClosingConnection,
  state: UserState,
  { processes, failed: stay }: EndedProcesses,
): Promise<ClosedConnection> {
  const { removed: containers, failed: left } = await runCleanupSteps(state, steps);
  removeConnectionCgroups(site, state.user.uid);
  const failed = [...stay, ...left];
  if (failed.length === 0) rmSync(closingRecordPath(file), { force: true });
  return { processes, containers, failed, sessions: sessionFields(noted) };
}

/** What each backend does in a cleanup of this user. Call it before the connection counts as closed. */
export async function cleanupSteps(
  site: SessionContext,
  user: User,
  connection?: string,
): Promise<readonly CleanupStep[]> {
  const steps = backendsIn(site.settings).map((backend) => backend.cleanUp(site, user, connection));
  return (await Promise.all(steps)).flat();
}

/** Runs the steps in order, each even if one before it failed: a user who damages one must not keep the others. */
export async function runCleanupSteps(
  state: UserState,
  steps: readonly CleanupStep[],
): Promise<RemovalResult> {
  let removed = 0;
  const failed: BerthError[] = [];
  for (const step of steps) {
    try {
      const ended = await step(state);
      removed += ended.removed;
      failed.push(...ended.failed);
    } catch (error) {
      failed.push(asBerthError(error, `cleaning up after ${state.user.name}`));
    }
  }
  return { removed, failed };
}

function sessionFields({ started, exit }: NotedSessions): LogEventFields<'session closed'> {
  const [first] = started;
  if (first === undefined) return {};
  const { profile, backend } = first;
  return { sessions: started.length, profile, backend, ...(exit === undefined ? {} : { exit }) };
}
