import { lstatSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { asBerthError, BerthError } from '../../system/errors/berth-error.ts';
import { signalProcess, type SignalTarget } from '../../system/end-processes.ts';
import { mapConcurrent } from '../../system/map-concurrent.ts';
import { isRunningAs, type ProcessId } from '../../system/processes.ts';
import {
  type ConnectionRecord,
  parseConnectionId,
  readRecordToClose,
} from '../../sessions/connections/connection-record.ts';
import { runningMonitor } from '../../sessions/connections/sshd-monitor.ts';
import {
  connectionRecordPath,
  type SessionContext,
} from '../../sessions/connections/state-paths.ts';
import type { Session } from './list-sessions.ts';

/** An open connection that can be ended. */
type Endable = Pick<Session, 'id' | 'user' | 'uid'>;

/** What became of a session. */
export interface EndedSession<One extends Endable = Session> {
  readonly session: One;
  /** `left`: it ended by itself before its time was over. */
  readonly outcome: 'ended' | 'left' | 'failed';
  /** What could not be ended or cleaned up; `berth reap` tries again. */
  readonly failed: readonly BerthError[];
}

export interface EndSessionsOptions<One extends Endable> {
  /** How long sessions may go on. Milliseconds. */
  readonly graceMs: number;
  /** Does what PAM's hook of a session did not. @returns what could not be cleaned up */
  readonly cleanUp: (session: One, record: ConnectionRecord) => Promise<readonly BerthError[]>;
  /** Called when a session is over. */
  readonly onEnd?: (ended: EndedSession<One>) => void;
}

/** How long sshd's monitor may take until its cleanup begins, then until it is done, as in PAM's hook. Milliseconds. */
const [beginMs, cleanupMs] = [10_000, 60_000];

/** Each end runs PAM's hook, which lists the user's processes. */
const atOnce = 8;
const everyMs = 50;

/**
 * Ends connections as if their clients had closed them: sshd's monitor passes SIGTERM on to its process for the user, and
 * PAM's close and Berth's cleanup run. If the monitor does not end, it is killed, and `cleanUp` is called.
 *
 * @returns one result for each session, after it is gone
 */
export async function endSessions<One extends Endable>(
  site: Pick<SessionContext, 'run'>,
  sessions: readonly One[],
  { graceMs, cleanUp, onEnd }: EndSessionsOptions<One>,
): Promise<readonly EndedSession<One>[]> {
  const end = performance.now() + graceMs;
  const monitors = sessions.flatMap(({ id }) => parseConnectionId(id) ?? []);
  while (performance.now() < end && monitors.some(isMonitor)) await sleep(everyMs);
  const over = await mapConcurrent(sessions, atOnce, async (session) => {
    const one = await endMonitor(site, session).catch((thrown: unknown) => failed(session, thrown));
    if (one.record === undefined) onEnd?.(one.ended);
    return one;
  });
  const all: EndedSession<One>[] = [];
  // One after the other, and not before the last monitor has ended: a cleanup changes the credentials of this process.
  for (const { ended, record } of over) {
    if (record === undefined) {
      all.push(ended);
      continue;
    }
    const { session } = ended;
    const cleaned = await cleanUp(session, record).then(
      (left): EndedSession<One> => ({ ...ended, failed: left }),
      (thrown: unknown) => failed(session, thrown).ended,
    );
    onEnd?.(cleaned);
    all.push(cleaned);
  }
  return all;
}

/** A session whose monitor has ended, or should have. */
interface Over<One extends Endable> {
  readonly ended: EndedSession<One>;
  /** If PAM's hook has not cleaned up. */
  readonly record?: ConnectionRecord | undefined;
}

function failed<One extends Endable>(session: One, thrown: unknown): Over<One> {
  const error = asBerthError(thrown, `ending session ${session.id} of ${session.user}`);
  return { ended: { session, outcome: 'failed', failed: [error] } };
}

async function endMonitor<One extends Endable>(
  site: Pick<SessionContext, 'run'>,
  session: One,
): Promise<Over<One>> {
  const { id, uid } = session;
  const named = parseConnectionId(id);
  const monitor = named === undefined ? undefined : runningMonitor(named);
  if (monitor === undefined) return { ended: { session, outcome: 'left', failed: [] } };
  const file = connectionRecordPath(site, uid, id);
  const begun = (): boolean => !isMonitor(monitor) || !exists(file);
  signalProcess(monitor, 'SIGTERM');
  await waitFor(begun, beginMs);
  if (begun()) await waitFor(() => !isMonitor(monitor), cleanupMs);
  if (isMonitor(monitor)) await killMonitor(monitor);
  if (isMonitor(monitor))
    return { ended: { session, outcome: 'failed', failed: [notEnded(session, monitor.pid)] } };
  return { ended: { session, outcome: 'ended', failed: [] }, record: readRecordToClose(file) };
}

function isMonitor(monitor: ProcessId): boolean {
  return isRunningAs(monitor, 0);
}

/** It may be stopped, or hang in a module of PAM. */
async function killMonitor(monitor: SignalTarget): Promise<void> {
  signalProcess(monitor, 'SIGKILL');
  await waitFor(() => !isMonitor(monitor), 2_000);
}

function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

async function waitFor(done: () => boolean, mostMs: number): Promise<void> {
  const end = performance.now() + mostMs;
  while (!done() && performance.now() < end) await sleep(everyMs);
}

function notEnded({ id, user }: Endable, pid: number): BerthError {
  const message = `ending session ${id} of ${user}: its sshd, PID ${pid}, still runs after SIGKILL`;
  return new BerthError('session-not-ended', message);
}
