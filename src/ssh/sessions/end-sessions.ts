import { lstatSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { asBerthError, BerthError } from '../../errors/berth-error.ts';
import { userOfUid } from '../../identity/nss.ts';
import { signalProcess, type SignalTarget } from '../../system/end-processes.ts';
import { mapConcurrent } from '../../system/map-concurrent.ts';
import { isRunning } from '../../system/processes.ts';
import { closeConnection } from '../cleanup/close-connection.ts';
import {
  closingRecordPath,
  type ConnectionRecord,
  parseConnectionId,
  readConnectionRecord,
} from '../../connections/connection-record.ts';
import { runningMonitor } from '../../connections/open-connections.ts';
import { connectionRecordPath, type SessionContext } from '../../connections/state-paths.ts';
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

/** As for the other parts of sessions, or with the reason why ssh.yml cannot be read. */
export interface EndingSite extends Omit<SessionContext, 'settings'> {
  readonly settings: SessionContext['settings'] | BerthError;
}

export interface EndSessionsOptions<One extends Endable> {
  /** How long sessions may go on. Milliseconds. */
  readonly graceMs: number;
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
 * PAM's close and Berth's cleanup run. If the monitor does not end, it is killed, and the cleanup is done here.
 *
 * @returns one result for each session, after it is gone
 */
export async function endSessions<One extends Endable>(
  site: EndingSite,
  sessions: readonly One[],
  { graceMs, onEnd }: EndSessionsOptions<One>,
): Promise<readonly EndedSession<One>[]> {
  const end = performance.now() + graceMs;
  const monitors = sessions.flatMap(({ id }) => parseConnectionId(id) ?? []);
  while (performance.now() < end && monitors.some(isRunning)) await sleep(everyMs);
  const over = await mapConcurrent(sessions, atOnce, async (session) => {
    const ended = await endMonitor(site, session);
    const isDone = ended.outcome !== 'ended' || recordOf(site, session) === undefined;
    if (isDone) onEnd?.(ended);
    return { ended, isDone };
  });
  const all: EndedSession<One>[] = [];
  // One after the other, and not before the last monitor has ended: a cleanup changes the credentials of this process.
  for (const { ended, isDone } of over) {
    if (isDone) {
      all.push(ended);
      continue;
    }
    const cleaned = { ...ended, ...(await cleanUp(site, ended.session)) };
    onEnd?.(cleaned);
    all.push(cleaned);
  }
  return all;
}

async function endMonitor<One extends Endable>(
  site: EndingSite,
  session: One,
): Promise<EndedSession<One>> {
  try {
    const { id, uid } = session;
    const named = parseConnectionId(id);
    const monitor = named === undefined ? undefined : runningMonitor(named);
    if (monitor === undefined) return { session, outcome: 'left', failed: [] };
    const file = connectionRecordPath(site, uid, id);
    const begun = (): boolean => !isRunning(monitor) || !exists(file);
    signalProcess(monitor, 'SIGTERM');
    await waitFor(begun, beginMs);
    if (begun()) await waitFor(() => !isRunning(monitor), cleanupMs);
    if (isRunning(monitor)) await killMonitor(monitor);
    if (isRunning(monitor)) return { session, outcome: 'failed', failed: [notEnded(session)] };
    return { session, outcome: 'ended', failed: [] };
  } catch (thrown) {
    return { session, ...failedBy(thrown, session) };
  }
}

function failedBy(
  thrown: unknown,
  { id, user }: Endable,
): Pick<EndedSession, 'outcome' | 'failed'> {
  return { outcome: 'failed', failed: [asBerthError(thrown, `ending session ${id} of ${user}`)] };
}

/** It may be stopped, or hang in a module of PAM. */
async function killMonitor(monitor: SignalTarget): Promise<void> {
  signalProcess(monitor, 'SIGKILL');
  await waitFor(() => !isRunning(monitor), 2_000);
}

/** Does what PAM's hook did not. */
async function cleanUp(
  site: EndingSite,
  session: Endable,
): Promise<Pick<EndedSession, 'outcome' | 'failed'>> {
  try {
    const { settings } = site;
    const record = recordOf(site, session);
    const user = record === undefined ? undefined : userOfUid(session.uid);
    if (record === undefined || user === undefined) return { outcome: 'ended', failed: [] };
    if (settings instanceof BerthError)
      return { outcome: 'ended', failed: [notCleanedUp(session, settings)] };
    const connection = { id: session.id, record, gone: true };
    const { failed } = await closeConnection({ ...site, settings }, user, connection);
    return { outcome: 'ended', failed };
  } catch (thrown) {
    return failedBy(thrown, session);
  }
}

/** The record of a connection whose cleanup is not complete. */
function recordOf(site: EndingSite, { id, uid }: Endable): ConnectionRecord | undefined {
  const file = connectionRecordPath(site, uid, id);
  return readConnectionRecord(file) ?? readConnectionRecord(closingRecordPath(file));
}

function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

async function waitFor(done: () => boolean, mostMs: number): Promise<void> {
  const end = performance.now() + mostMs;
  while (!done() && performance.now() < end) await sleep(everyMs);
}

function notCleanedUp({ id, user }: Endable, { message, code, hint }: BerthError): BerthError {
  return new BerthError(`session ${id} of ${user} ended and is not cleaned up: ${message}`, {
    code,
    hint: `${hint} Then run \`berth reap\`.`,
  });
}

function notEnded({ id, user }: Endable): BerthError {
  return new BerthError(`sshd of session ${id} of ${user} survived SIGKILL`, {
    code: 'session-not-ended',
  });
}
