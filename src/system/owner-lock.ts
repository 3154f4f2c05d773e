import { readFileSync, readlinkSync } from 'node:fs';
import { link, mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BerthError, isErrno } from '../errors.ts';
import { randomDigits } from './random-digits.ts';
import { escapeControl } from '../log.ts';
import { writeError } from './atomic-file.ts';
import { isOfDead, markPattern, processMark } from './process-mark.ts';
import { startOf } from './process-start.ts';
import { readUserFile, someNamesIn } from './user-file.ts';

export interface LockOptions {
  /** How long to wait for others, in milliseconds. */
  readonly waitMs: number;
  /**
   * A lock of another machine is given up when it is older than this, in milliseconds by the file
   * server's clock: its owner cannot be looked up, so whoever takes the lock must be done by then.
   */
  readonly foreignStaleMs: number;
  /**
   * Asked before every try, and again with the lock in hand: its last owner may have made it true in
   * between. True ends the wait without the lock (what was wanted is there).
   */
  readonly enough?: () => boolean;
}

export interface OwnerLock {
  /** Gives it back, if it is still ours: an owner that overslept may have lost it. */
  release(): Promise<void>;
}

/** Who holds a lock, in the lock file. `nonce` tells two locks of one process apart. */
interface Owner {
  readonly host: string;
  /** Boot and process-id namespace: a number means the same process only inside both. */
  readonly world: string;
  readonly pid: number;
  /** Start of the process in clock ticks since boot, /proc/PID/stat field 22. */
  readonly start: string;
  readonly nonce: string;
}

const abandonedAfterMs = 3_600_000;

/** The lock may lie in a user's folder: what is there in its place is not read to its end. Bytes. */
const longestOwner = 1_024;
const mostNames = 10_000;

/**
 * Takes a lock file that outlives kill -9 of its owner by no more than the next try.
 *
 * It is made by link(2), which is atomic on NFS too and shows the owner from the first moment. Who
 * finds it with a dead owner may remove it only while holding the lock on that very owner
 * (`FILE.NONCE`), so two that find it at once never remove the successor's.
 *
 * @returns Nothing where `enough` said so.
 * @throws {BerthError} `lock-timeout`, and what `writeError` makes of a full disk or quota.
 */
export async function takeLock(path: string, options: LockOptions): Promise<OwnerLock | undefined> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const self = describeSelf();
  const temporary = `${path}.${self.nonce}.${processMark()}.tmp`;
  try {
    await writeFile(temporary, JSON.stringify(self), { flag: 'wx', mode: 0o600 });
  } catch (cause) {
    await rm(temporary, { force: true });
    throw writeError(path, cause);
  }
  try {
    const end = performance.now() + options.waitMs;
    for (;;) {
      if (options.enough?.() === true) return undefined;
      if (await tryLink(temporary, path)) {
        await sweep(path, temporary);
        const lock = lockOf(path, self);
        if (options.enough?.() !== true) return lock;
        await lock.release();
        return undefined;
      }
      if (!(await removeStale(path, self, temporary, options)) && performance.now() > end) {
        throw await timedOut(path, options.waitMs);
      }
      await sleep(15 + Math.random() * 20);
    }
  } finally {
    await rm(temporary, { force: true });
  }
}

/**
 * A lock of this host's alone, in a folder that no other host sees; nothing where somebody alive has it.
 *
 * @throws as `takeLock`, but for `lock-timeout`
 */
export async function freeLock(path: string): Promise<OwnerLock | undefined> {
  try {
    return await takeLock(path, { waitMs: 0, foreignStaleMs: 0 });
  } catch (thrown) {
    if (thrown instanceof BerthError && thrown.code === 'lock-timeout') return undefined;
    throw thrown;
  }
}

function lockOf(path: string, self: Owner): OwnerLock {
  return {
    release: async () => {
      if ((await readOwner(path))?.nonce === self.nonce) await rm(path, { force: true });
    },
  };
}

/**
 * What a process left that was killed between two steps is removed by the next owner; of another
 * host's, which cannot be looked up, after an hour.
 */
async function sweep(path: string, temporary: string): Promise<void> {
  const folder = dirname(path);
  const stem = `${basename(path)}.`;
  const { mtimeMs } = await stat(temporary);
  for (const name of await someNamesIn(folder, mostNames)) {
    if (!name.startsWith(stem)) continue;
    const [whole, mark] = leftoverEnd.exec(name.slice(stem.length)) ?? [];
    if (whole === undefined) continue;
    try {
      const leftover = join(folder, name);
      const dead = mark === undefined ? await isOwnedByDead(leftover) : isOfDead(mark);
      if (dead || mtimeMs - (await stat(leftover)).mtimeMs > abandonedAfterMs) await rm(leftover);
    } catch (error) {
      // Somebody else swept it.
      if (!isErrno(error, 'ENOENT')) throw error;
    }
  }
}

/**
 * `NONCE`, the right to remove a dead owner's lock; `NONCE.MARK.tmp`, a lock in the making, and its
 * probe of the time; the same of a right, which is a lock as well.
 */
const leftoverEnd = new RegExp(
  `^[0-9a-f]{18}(?:\\.[0-9a-f]{18})*(?:\\.(${markPattern})\\.tmp(?:\\.now)?)?$`,
);

/** The lock itself is ours by now, so a right on a former owner is of no use to anybody. */
async function isOwnedByDead(right: string): Promise<boolean> {
  const owner = await readOwner(right);
  const self = describeSelf();
  return (
    owner?.host === self.host && owner.world === self.world && startOf(owner.pid) !== owner.start
  );
}

async function tryLink(temporary: string, path: string): Promise<boolean> {
  try {
    await link(temporary, path);
    return true;
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error;
    // open(2), O_EXCL: over NFS a lost answer makes a link that was made look like a failure.
    return (await stat(temporary)).nlink === 2;
  }
}

/** Removes the lock when its owner is gone; true when it was worth trying. */
async function removeStale(
  path: string,
  self: Owner,
  temporary: string,
  options: LockOptions,
): Promise<boolean> {
  const owner = await readOwner(path);
  if (owner === undefined || !(await isStale(owner, self, path, temporary, options))) return false;
  const right = await takeLock(`${path}.${owner.nonce}`, { ...options, waitMs: 1_000 });
  try {
    // Only its owner, who is dead, and the holder of this right remove it: this is no race.
    if (right && (await readOwner(path))?.nonce === owner.nonce) await rm(path, { force: true });
  } finally {
    await right?.release();
  }
  return true;
}

async function isStale(
  owner: Owner,
  self: Owner,
  path: string,
  temporary: string,
  options: LockOptions,
): Promise<boolean> {
  if (owner.host === self.host && owner.world === self.world) {
    return startOf(owner.pid) !== owner.start;
  }
  // Both times are the file server's: this machine's clock has no part in it.
  try {
    return (await touched(temporary)) - (await stat(path)).mtimeMs > options.foreignStaleMs;
  } catch {
    return false;
  }
}

/** The file server's time now: what it gives to a file that is written now. */
async function touched(temporary: string): Promise<number> {
  const probe = `${temporary}.now`;
  await writeFile(probe, '', { mode: 0o600 });
  const { mtimeMs } = await stat(probe);
  await rm(probe, { force: true });
  return mtimeMs;
}

/** Nothing where there is no lock. A file that is no lock of ours only ages. */
async function readOwner(path: string): Promise<Owner | undefined> {
  let text: string;
  try {
    const uid = process.geteuid?.() ?? 0;
    const bytes = await readUserFile(path, { uid, maximumBytes: longestOwner });
    if (bytes === undefined) return undefined;
    text = bytes.toString('utf8');
  } catch (error) {
    if (!(error instanceof BerthError)) throw error;
    text = '';
  }
  try {
    const owner = JSON.parse(text) as Partial<Owner> | null;
    if (typeof owner?.nonce === 'string' && /^[0-9a-f]{18}$/.test(owner.nonce))
      return owner as Owner;
  } catch {
    // Below.
  }
  return { host: '', world: '', pid: 0, start: '', nonce: 'unreadable' };
}

function describeSelf(): Owner {
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  return {
    host: hostname(),
    world: `${boot} ${readlinkSync('/proc/self/ns/pid')}`,
    pid: process.pid,
    start: startOf(process.pid) ?? '',
    nonce: randomDigits(18),
  };
}

async function timedOut(path: string, waitMs: number): Promise<BerthError> {
  const owner = await readOwner(path);
  const who = owner === undefined ? 'nobody' : `process ${owner.pid} on ${owner.host}`;
  return new BerthError(
    `another process (${escapeControl(who)}) held the lock for more than ${waitMs} ms`,
    {
      code: 'lock-timeout',
      exit: 'temporary',
      hint: 'Try again. If it stays: look what that process waits for.',
      fields: { file: path },
    },
  );
}
