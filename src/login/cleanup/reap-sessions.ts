import { lstatSync } from 'node:fs';
import { abortWaitedFor } from '../../sessions/backends/podman/kill-processes.ts';
import { belongs } from '../../sessions/backends/podman/user-processes.ts';
import { readRecordToClose } from '../../sessions/connections/connection-record.ts';
import { countText } from '../../system/text/count-text.ts';
import { asBerthError, BerthError } from '../../system/errors/berth-error.ts';
import { userOfUid } from '../../system/identity/nss.ts';
import { subordinateRanges } from '../../system/identity/subordinate-ranges.ts';
import { directoryNames } from '../../system/if-present.ts';
import { takeLock } from '../../system/file-lock.ts';
import { readPrivateFile, writePrivateFile } from '../../system/private-file.ts';
import { canFreeze, cgroupOf, delegatedCgroup, whileFrozen } from '../../system/cgroup.ts';
import { answerLooks } from '../../system/answer-looks.ts';
import { killUnseen } from '../../system/end-processes.ts';
import { auditSession, pidsByUid, pidsOf } from '../../system/processes.ts';
import { ensureRootDirectory } from '../../system/safe-directories.ts';
import { connectionCgroup } from '../../sessions/connections/connection-cgroup.ts';
import {
  connectionRecordPath,
  connectionsDir,
  hungNotePath,
  type SessionContext,
} from '../../sessions/connections/state-paths.ts';
import { findGoneConnections } from './gone-connections.ts';
import { type ReapedUser, reapInTurn, type StartReapProcess } from './reap-in-turn.ts';
import { emptyReap, type UserReap } from './reap-user.ts';

export interface ReapReport extends UserReap {
  /** Whether another reaper was running, so that this one did nothing. */
  readonly busy: boolean;
  /** How many users were not handled in time; the next run starts with them. */
  readonly unreached: number;
}

export interface ReapOptions {
  /** Report what would be done, and change nothing. */
  readonly dryRun: boolean;
  /** How long to wait for another reaper. Milliseconds. */
  readonly timeoutMs: number;
  /** Starts the process that runs `reapEach`. */
  readonly start: StartReapProcess;
}

/** How often all users of the storage are checked, which may be thousands. Milliseconds. */
const sweepEveryMs = 3_600_000;

/** Limit for one user. Each podman has its own limit, and a hostile storage can use up several. Milliseconds. */
const turnMs = 60_000;

/**
 * Limit for all users. Less than TimeoutStartSec in etc/systemd/berth-reap.service, so that the users who were not
 * handled can still be reported. Milliseconds.
 */
export const reapTimeoutMs = 240_000;

/**
 * Cleans up what PAM's close missed because sshd was killed or the machine was rebooted, and what has expired.
 * What cannot be ended now is tried again in the next run.
 *
 * @throws {BerthError} system errors about directories of root
 */
export async function reapSessions(
  site: SessionContext,
  options: ReapOptions,
): Promise<ReapReport> {
  ensureRootDirectory(site.run);
  if (options.dryRun) return reapAll(site, options);
  const lock = `${site.run}/reap.lock`;
  let held;
  try {
    held = await takeLock(lock, { timeoutMs: options.timeoutMs, foreignStaleMs: 600_000 });
  } catch (error) {
    if (asBerthError(error, 'reap').code === 'lock-timeout')
      return { ...emptyReap, busy: true, unreached: 0 };
    throw error;
  }
  try {
    return await reapAll(site, options);
  } finally {
    await held?.release();
  }
}

/** Cleans up after these users, each in its time, beside any other cleanup. */
export function reapUsers(
  site: Pick<SessionContext, 'run'>,
  uids: readonly number[],
  start: StartReapProcess,
): AsyncGenerator<ReapedUser> {
  return reapInTurn(uids, { turnMs, roundMs: Infinity, noteOf: notesOf(site) }, start);
}

/** The note of a user whose reaper survives SIGKILL. */
function notesOf(site: Pick<SessionContext, 'run'>): (uid: number) => string {
  return (uid) => hungNotePath(site, uid, 'reap');
}

async function reapAll(site: SessionContext, { dryRun, start }: ReapOptions): Promise<ReapReport> {
  let report: UserReap = emptyReap;
  const last = lastRound(site);
  const reached = new Set<number>();
  const late = new Set<number>();
  const uids = reapOrder(candidates(site, dryRun), last);
  const limits = {
    turnMs,
    roundMs: reapTimeoutMs,
    slow: last.slow,
    noteOf: notesOf(site),
    onWait: dryRun ? undefined : (waiting: readonly number[]) => endSilence(site, waiting),
  };
  for await (const { uid, reaped } of reapInTurn(uids, limits, start)) {
    reached.add(uid);
    if (reaped.failed.some(({ code }) => code === 'reap-user-timeout')) {
      late.add(uid);
      // Written at once, in case this process is killed too.
      if (!dryRun) writeRound(site, { ...last, slow: new Set([...last.slow, ...late]) });
    }
    report = added(report, reaped);
  }
  const next = nextReapRound(uids, last, { reached, late });
  if (!dryRun) writeRound(site, next);
  const unreached = next.unreached.size;
  const failed = [...report.failed, ...(unreached === 0 ? [] : [roundLate(unreached)])];
  return { busy: false, ...report, failed, unreached };
}

/**
 * Aborts what processes of these users wait for in the kernel, and with them all who look at them, and kills what their ended connections
 * left, by what the kernel tells without a wait. Never throws.
 */
async function endSilence(site: SessionContext, uids: readonly number[]): Promise<void> {
  for (const user of uids.flatMap((uid) => userOfUid(uid) ?? [])) {
    try {
      const owner = { uid: user.uid, subordinate: await subordinateRanges(user) };
      const isTheirs = (uid: number): boolean => belongs(uid, owner);
      const theirs = (): readonly number[] => pidsOf(pidsByUid(), isTheirs);
      if (await answerLooks(theirs())) continue;
      const killed = await killLeft(site, user.uid, theirs, isTheirs);
      const aborted = abortWaitedFor(owner);
      site.log.info('processes ended without inspecting them: reading /proc hung', {
        user: user.name,
        killed,
        aborted: aborted.length,
        connections: aborted.slice(0, 10).join(' '),
      });
    } catch (thrown) {
      site.log.error(asBerthError(thrown, `processes of ${user.name}`));
    }
  }
}

/**
 * Kills what ended connections of a user left, while it is frozen: it may have forked since it was listed.
 *
 * @returns how many processes
 */
async function killLeft(
  site: SessionContext,
  uid: number,
  theirs: () => readonly number[],
  isTheirs: (uid: number) => boolean,
): Promise<number> {
  const gone = findGoneConnections(site, uid, true);
  const ended = gone.map((id) => readRecordToClose(connectionRecordPath(site, uid, id))?.session);
  const left = (): readonly number[] =>
    theirs().filter((pid) => {
      const session = auditSession(pid);
      return session !== undefined && ended.includes(session);
    });
  const killed = new Set<number>();
  const kill = (): void => {
    for (const pid of left()) {
      killUnseen(pid, isTheirs);
      killed.add(pid);
    }
  };
  const own = gone.map((id) => connectionCgroup(site, uid, id));
  const around = left().map((pid) => delegatedCgroup(cgroupOf(pid) ?? '', uid));
  for (const cgroup of new Set([...own, ...around]))
    if (cgroup !== undefined && canFreeze(cgroup)) await whileFrozen(cgroup, kill);
  kill();
  return killed.size;
}

function roundLate(unreached: number): BerthError {
  return new BerthError(
    'reap-timeout',
    `cleanup stopped after ${reapTimeoutMs / 1000} s, before it reached ${countText(unreached, 'user')}. The next run begins with them`,
    { fields: { unreached } },
  );
}

function roundFile({ run }: Pick<SessionContext, 'run'>): string {
  return `${run}/reap-round.json`;
}

function writeRound(site: SessionContext, { slow, unreached }: LastReapRound): void {
  writePrivateFile(roundFile(site), JSON.stringify({ slow: [...slow], unreached: [...unreached] }));
}

function lastRound(site: SessionContext): LastReapRound {
  const text = readPrivateFile(roundFile(site), 0, 1024 * 1024);
  const { slow, unreached } = (
    text === undefined ? { slow: [], unreached: [] } : JSON.parse(text)
  ) as { readonly slow: readonly number[]; readonly unreached: readonly number[] };
  return { slow: new Set(slow), unreached: new Set(unreached) };
}

/**
 * UIDs that may need a cleanup: those with a record or a runtime directory of Berth's, those with running processes,
 * and, once after each boot and each hour, all that have a storage.
 */
function candidates(site: SessionContext, dryRun: boolean): readonly number[] {
  const uids = new Set<number>();
  const add = (names: readonly string[]): void => {
    for (const name of names) if (/^[1-9][0-9]*$/.test(name)) uids.add(Number(name));
  };
  const storage = directoryNames(`${site.settings.storage}/users`);
  add(directoryNames(connectionsDir(site)));
  add(directoryNames(`${site.run}/idle`));
  add(directoryNames(`${site.run}/pods`));
  add(directoryNames(`${site.run}/users`));
  const swept = lstatSync(`${site.run}/swept`, { throwIfNoEntry: false });
  if (dryRun || swept === undefined || site.now() - swept.mtimeMs > sweepEveryMs) {
    add(storage);
    if (!dryRun) writePrivateFile(`${site.run}/swept`, '');
  } else {
    const running = pidsByUid();
    add(storage.filter((name) => running.has(Number(name))));
  }
  return [...uids];
}

function added(one: UserReap, other: UserReap): UserReap {
  return {
    connections: [...one.connections, ...other.connections],
    processes: one.processes + other.processes,
    containers: [...one.containers, ...other.containers],
    sessionsOpen: one.sessionsOpen + other.sessionsOpen,
    containersLeft: one.containersLeft + other.containersLeft,
    services: [...one.services, ...other.services],
    ownerless: [...one.ownerless, ...other.ownerless],
    failed: [...one.failed, ...other.failed],
  };
}

/** What the last run of the reaper recorded about users. */
interface LastReapRound {
  /** UIDs that took too long. */
  readonly slow: ReadonlySet<number>;
  /** UIDs that were not handled, in the order of the queue. */
  readonly unreached: ReadonlySet<number>;
}

/**
 * The order in which users are handled: first those that the last run did not handle, longest waiting first, and
 * last those that took too long, so that they do not delay the others again.
 */
export function reapOrder(uids: readonly number[], { slow, unreached }: LastReapRound): number[] {
  const rank = (uid: number): number => (slow.has(uid) ? 2 : 0) + (unreached.has(uid) ? 0 : 1);
  const places = new Map([...unreached].map((uid, place) => [uid, place]));
  const place = (uid: number): number => places.get(uid) ?? uid;
  return uids.toSorted((one, other) => rank(one) - rank(other) || place(one) - place(other));
}

/** What to record for the next run. @param uids In the order of `reapOrder`. */
export function nextReapRound(
  uids: readonly number[],
  { slow }: LastReapRound,
  done: { readonly reached: ReadonlySet<number>; readonly late: ReadonlySet<number> },
): LastReapRound {
  const unreached = new Set(uids.filter((uid) => !done.reached.has(uid)));
  return {
    slow: new Set([...done.late, ...[...slow].filter((uid) => unreached.has(uid))]),
    unreached,
  };
}
