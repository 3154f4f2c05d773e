import { lstatSync } from 'node:fs';
import { asBerthError } from '../errors.ts';
import { namesIn } from '../system/names-in.ts';
import { takeLock } from '../system/owner-lock.ts';
import { runningProcesses } from '../system/processes.ts';
import { ensureRootFolder } from '../system/root-folders.ts';
import { readPrivateFile, writePrivateFile } from '../system/private-file.ts';
import { inTurn, type StartTurns } from './reap-in-turn.ts';
import { nothingReaped, type UserReap } from './reap-user.ts';
import { connectionsFolder, type SessionSite } from './session-site.ts';

export interface ReapReport extends UserReap {
  /** Another reaper was at work, and this one did nothing. */
  readonly busy: boolean;
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
      return { ...nothingReaped, busy: true };
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
  const slow = slowUsers(site);
  const late: number[] = [];
  // Who took too long before comes last: the others' turn does not wait for that again.
  const uids = [...candidates(site, dryRun)].sort(
    (a, b) => Number(slow.has(a)) - Number(slow.has(b)) || a - b,
  );
  for await (const { uid, reaped } of inTurn(uids, turnMs, start)) {
    if (reaped.failed.some(({ code }) => code === 'reap-turn-late')) {
      late.push(uid);
      // At once: several of them may take longer than the service may run.
      if (!dryRun) writePrivateFile(slowFile(site), JSON.stringify([...slow, ...late]));
    }
    report = added(report, reaped);
  }
  if (!dryRun) writePrivateFile(slowFile(site), JSON.stringify(late));
  return { busy: false, ...report };
}

function slowFile({ run }: Pick<SessionSite, 'run'>): string {
  return `${run}/slow.json`;
}

/** UIDs of those whose turn took too long the last time. */
function slowUsers(site: SessionSite): ReadonlySet<number> {
  const text = readPrivateFile(slowFile(site), 0, 1024 * 1024);
  return new Set(text === undefined ? [] : (JSON.parse(text) as number[]));
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
