import { lstatSync } from 'node:fs';
import { asBerthError, BerthError } from '../../errors.ts';
import { namesIn } from '../../system/names-in.ts';
import { takeLock } from '../../system/owner-lock.ts';
import { runningProcesses } from '../../system/processes.ts';
import { ensureRootFolder } from '../../system/root-folders.ts';
import { readPrivateFile, writePrivateFile } from '../../system/private-file.ts';
import { inTurn, type StartTurns } from './reap-in-turn.ts';
import { type LastRound, nextRound, reapOrder } from './reap-order.ts';
import { nothingReaped, type UserReap } from './reap-user.ts';
import { connectionsFolder, type SessionSite } from '../connections/state-paths.ts';

export interface ReapReport extends UserReap {
  /** Another reaper was at work, and this one did nothing. */
  readonly busy: boolean;
  /** How many users' turn did not come: the next run begins with them. */
  readonly unreached: number;
}

export interface ReapOptions {
  /** Only say what would be done. */
  readonly dryRun: boolean;
  /** How long to wait for another reaper. Milliseconds. */
  readonly waitMs: number;
  /** Reaps these users, one after the other, in a process that can be killed: `reapEach`. */
  readonly start: StartTurns;
}

/** A storage of thousands of users is not looked through each minute. Milliseconds. */
const sweepEveryMs = 3_600_000;

/**
 * How long one user's turn may take. Podman has its own limits, of which a user with a storage that
 * fights back can use up several. Milliseconds.
 */
const turnMs = 60_000;

/**
 * How long all turns together may take: less than TimeoutStartSec of etc/systemd/berth-reap.service, so that
 * what was not reached can be said. Milliseconds.
 */
export const roundMs = 240_000;

/**
 * Finds what PAM's close missed, because sshd was killed or the machine was booted, and what is past
 * its grace or time. What it cannot end now, it tries again the next time.
 *
 * @throws `lock-timeout`, errors of the system with root's own folders
 */
export async function reapSessions(site: SessionSite, options: ReapOptions): Promise<ReapReport> {
  ensureRootFolder(site.run);
  if (options.dryRun) return reapAll(site, options);
  const lock = `${site.run}/reap.lock`;
  let held;
  try {
    held = await takeLock(lock, { waitMs: options.waitMs, foreignStaleMs: 600_000 });
  } catch (error) {
    if (asBerthError(error, 'reap').code === 'lock-timeout')
      return { ...nothingReaped, busy: true, unreached: 0 };
    throw error;
  }
  try {
    return await reapAll(site, options);
  } finally {
    await held?.release();
  }
}

async function reapAll(site: SessionSite, { dryRun, start }: ReapOptions): Promise<ReapReport> {
  let report: UserReap = nothingReaped;
  const last = lastRound(site);
  const reached = new Set<number>();
  const late = new Set<number>();
  const uids = reapOrder(candidates(site, dryRun), last);
  for await (const { uid, reaped } of inTurn(uids, { turnMs, roundMs }, start)) {
    reached.add(uid);
    if (reaped.failed.some(({ code }) => code === 'reap-turn-late')) {
      late.add(uid);
      // At once: who is killed in the middle of it has said so.
      if (!dryRun) writeRound(site, { ...last, slow: new Set([...last.slow, ...late]) });
    }
    report = added(report, reaped);
  }
  const next = nextRound(uids, last, { reached, late });
  if (!dryRun) writeRound(site, next);
  const unreached = next.unreached.size;
  const failed = [...report.failed, ...(unreached === 0 ? [] : [roundLate(unreached)])];
  return { busy: false, ...report, failed, unreached };
}

function roundLate(unreached: number): BerthError {
  return new BerthError(
    `cleanup stopped after ${roundMs / 1000} s: users that were not handled: ${unreached}`,
    {
      code: 'reap-round-late',
      exit: 'temporary',
      hint: 'The next run starts with them. Find slow users: journalctl -u berth-reap | grep reap-turn-late; then look for hung mounts in their storage.',
      fields: { unreached },
    },
  );
}

function roundFile({ run }: Pick<SessionSite, 'run'>): string {
  return `${run}/reap-round.json`;
}

function writeRound(site: SessionSite, { slow, unreached }: LastRound): void {
  writePrivateFile(roundFile(site), JSON.stringify({ slow: [...slow], unreached: [...unreached] }));
}

function lastRound(site: SessionSite): LastRound {
  const text = readPrivateFile(roundFile(site), 0, 1024 * 1024);
  const { slow, unreached } = (
    text === undefined ? { slow: [], unreached: [] } : JSON.parse(text)
  ) as { readonly slow: readonly number[]; readonly unreached: readonly number[] };
  return { slow: new Set(slow), unreached: new Set(unreached) };
}

/**
 * UIDs of whom something may be left: those with a record or a run folder of Berth's, those whose containers run, and once after
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
  add(namesIn(`${site.run}/users`));
  const swept = lstatSync(`${site.run}/swept`, { throwIfNoEntry: false });
  if (dryRun || swept === undefined || site.now() - swept.mtimeMs > sweepEveryMs) {
    add(storage);
    if (!dryRun) writePrivateFile(`${site.run}/swept`, '');
  } else {
    const running = new Set([...runningProcesses()].map(({ uid }) => String(uid)));
    add(storage.filter((name) => running.has(name)));
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
    ownerless: [...one.ownerless, ...other.ownerless],
    failed: [...one.failed, ...other.failed],
  };
}
