import type { BigIntStats } from 'node:fs';
import { link, lstat, mkdir, readlink, rename, symlink, unlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BerthError, expectErrno, isErrno } from './errors/berth-error.ts';
import { escapeControl } from '../log.ts';
import { removeAbandoned, writeError } from './atomic-file.ts';
import { ifExists } from './if-present.ts';
import {
  isDeadMark,
  markPattern,
  pidOfMark,
  processMark,
  randomDigits,
  temporaryName,
} from './temporary-name.ts';
import { processStatus, realUid } from './proc-status.ts';
import { processStartTime } from './process-start.ts';

export interface LockOptions {
  /** How long to wait for other holders, in milliseconds. */
  readonly timeoutMs: number;
  /**
   * Age in milliseconds, by the file server's clock, from which a lock is removed if its holder cannot be looked
   * up: a process of another host, or another program. A holder must be done by then.
   */
  readonly foreignStaleMs: number;
  /**
   * The same for any holder, in a directory where others can create the lock and name a process that never ends.
   * Default: a living holder keeps its lock.
   */
  readonly staleMs?: number;
  /**
   * Called before each attempt, and again when the lock was taken, because the last holder may have done the
   * work. True ends the wait without the lock.
   */
  readonly stopWaitingIf?: () => boolean;
  /** Called when the lock of a dead holder was removed. */
  readonly onTakenOver?: (ageSeconds: number) => void;
  /** The error to throw in place of `lock-timeout`. */
  readonly timedOut?: (holder: string, ageSeconds: number) => BerthError;
}

type StaleLimits = Pick<LockOptions, 'foreignStaleMs' | 'staleMs'>;

export interface FileLock {
  /** Removes the lock if this process still holds it: another may have taken over one that was too old. */
  release(): Promise<void>;
}

/** Time between two attempts, in milliseconds; another third of it is added at random. */
const firstPauseMs = 15;
const longestPauseMs = 500;

/**
 * The longer it has taken, the longer until the next attempt: those of hundreds of waiting processes would take the processor time
 * that the holder needs. One waits a tenth longer than necessary, or a little more.
 */
function pauseAfter(waitedMs: number): number {
  const pauseMs = Math.min(Math.max(firstPauseMs, waitedMs / 10), longestPauseMs);
  return pauseMs * (1 + Math.random() / 3);
}

/**
 * Takes a lock file. If its holder is killed, the next attempt of any process on the same host takes it over.
 *
 * The lock is a symlink that names its holder: creating one is atomic, on NFS too, and shows the holder from the
 * first moment. Programs that create a lock file with O_EXCL (kubectl) are kept out, and keep us out. The directory
 * is created if it is missing, with mode 0700.
 *
 * @returns undefined if `stopWaitingIf` returned true
 * @throws {BerthError} `lock-timeout`, or what `timedOut` returns; the errors of `writeError`
 */
export async function takeLock(path: string, options: LockOptions): Promise<FileLock | undefined> {
  const self = newHolder();
  const began = performance.now();
  for (;;) {
    if (options.stopWaitingIf?.() === true) return undefined;
    if (await tryToTake(path, self)) {
      const release = (): Promise<void> => removeOwn(path, self);
      if (options.stopWaitingIf?.() !== true) return { release };
      await release();
      return undefined;
    }
    if (await removeDeadLock(path, options)) continue;
    const waitedMs = performance.now() - began;
    if (waitedMs > options.timeoutMs) throw await timedOut(path, options);
    await sleep(Math.min(pauseAfter(waitedMs), options.timeoutMs - waitedMs + 1));
  }
}

/**
 * Takes a lock that only processes of this host use, without waiting.
 *
 * @returns undefined if a living process holds it
 * @throws as `takeLock`, except `lock-timeout`
 */
export async function tryLock(path: string): Promise<FileLock | undefined> {
  try {
    return await takeLock(path, { timeoutMs: 0, foreignStaleMs: 0 });
  } catch (thrown) {
    if (thrown instanceof BerthError && thrown.code === 'lock-timeout') return undefined;
    throw thrown;
  }
}

/**
 * Removes a lock whose holder is dead. Only one process at a time may do so, the one that holds `LOCK.takeover`:
 * otherwise the slower of two that saw the same dead lock could remove its successor.
 *
 * @returns whether another attempt to take the lock is worth it
 */
export async function removeDeadLock(
  path: string,
  { onTakenOver, ...limits }: StaleLimits & Pick<LockOptions, 'onTakenOver'>,
): Promise<boolean> {
  const seen = await look(path);
  if (seen === undefined) return true;
  if (!isStale(seen, Date.now(), limits)) return false;
  const claim = `${path}.takeover`;
  const beside = path.replace(/(?<=[^/])\.lock$/, '');
  const self = newHolder();
  if (!(await tryToTake(claim, self))) {
    const other = await look(claim);
    if (other !== undefined && isStale(other, Date.now(), limits))
      await removeLockIfSame(claim, other.identity, beside);
    return false;
  }
  try {
    // Both times are the file server's, so this host's clock does not matter.
    const now = (await look(claim))?.modifiedMs ?? 0;
    const still = await look(path);
    if (still?.identity !== seen.identity || !isStale(still, now, limits)) return false;
    if (!(await removeLockIfSame(path, seen.identity, beside))) return false;
    onTakenOver?.(Math.round((now - seen.modifiedMs) / 1000));
    return true;
  } finally {
    await removeOwn(claim, self);
  }
}

/**
 * Removes a lock file only if it is the one that was looked at: it is renamed, compared, and put back if another
 * process has taken the lock in between.
 *
 * @param identity see `lockIdentity`
 * @param beside a file whose later writers remove the renamed lock if this process is killed (`temporaryName`)
 */
export async function removeLockIfSame(
  lock: string,
  identity: string,
  beside: string,
): Promise<boolean> {
  await removeAbandoned(beside);
  const aside = temporaryName(beside);
  try {
    await rename(lock, aside);
  } catch (error) {
    expectErrno(error, 'ENOENT');
    return true;
  }
  const same = (await look(aside))?.identity === identity;
  if (!same)
    await link(aside, lock).catch((error: unknown) => {
      // A third process holds the lock by now.
      expectErrno(error, 'EEXIST');
    });
  await unlink(aside);
  return same;
}

/** Tells a lock file from the next one at the same path. Inode numbers are reused, so the time counts too. */
export function lockIdentity({ dev, ino, mtimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${mtimeNs}`;
}

/** The target of a lock: `berth:MARK:START:NONCE:HOST`. Mark and start name the process, the nonce this lock. */
function newHolder(): string {
  const start = processStartTime(process.pid) ?? '0';
  return `berth:${processMark()}:${start}:${randomDigits(12)}:${hostname()}`;
}

const holderPattern = new RegExp(`^berth:(${markPattern}):(\\d+):[0-9a-f]{12}:(.*)$`);

async function tryToTake(lock: string, self: string): Promise<boolean> {
  try {
    await symlink(self, lock);
    return true;
  } catch (cause) {
    if (isErrno(cause, 'ENOENT')) {
      await mkdir(dirname(lock), { recursive: true, mode: 0o700 });
      return false;
    }
    // Over NFS, a request whose answer was lost is repeated, and then the lock exists: it is ours.
    if (isErrno(cause, 'EEXIST')) return (await targetOf(lock)) === self;
    throw writeError(lock, cause);
  }
}

async function removeOwn(lock: string, self: string): Promise<void> {
  if ((await targetOf(lock)) === self) await unlink(lock);
}

interface SeenLock {
  readonly identity: string;
  /** Of whoever made it. */
  readonly uid: number;
  readonly modifiedMs: number;
  /** undefined for a plain file, such as kubectl's lock. */
  readonly target: string | undefined;
}

async function look(lock: string): Promise<SeenLock | undefined> {
  const status = await ifExists(lstat(lock, { bigint: true }));
  if (status === undefined) return undefined;
  return {
    identity: lockIdentity(status),
    uid: Number(status.uid),
    modifiedMs: Number(status.mtimeMs),
    target: await targetOf(lock),
  };
}

async function targetOf(lock: string): Promise<string | undefined> {
  try {
    return await readlink(lock);
  } catch (error) {
    // EINVAL: not a symlink.
    expectErrno(error, 'EINVAL', 'ENOENT');
    return undefined;
  }
}

function isStale(
  { target = '', modifiedMs, uid }: SeenLock,
  now: number,
  { foreignStaleMs, staleMs = Infinity }: StaleLimits,
): boolean {
  const [, mark = '', start] = holderPattern.exec(target) ?? [];
  const pid = pidOfMark(mark);
  const age = now - modifiedMs;
  if (pid === undefined) return age > foreignStaleMs;
  if (age > staleMs) return true;
  const holder = realUid(processStatus(pid));
  // With hidepid (proc(5)), /proc does not show another user's process, and only its PID can be asked for.
  if (Number.isNaN(holder)) return isDeadMark(mark);
  if (holder === 0 || holder === process.getuid?.()) return processStartTime(pid) !== start;
  // A user's process, which may keep whoever reads its start waiting (`pidsByUid`). It holds no lock of others.
  return holder !== uid || age > foreignStaleMs;
}

async function timedOut(path: string, options: LockOptions): Promise<BerthError> {
  const seen = await look(path);
  const [, mark, , host] = holderPattern.exec(seen?.target ?? '') ?? [];
  const pid = mark?.split('-').at(-1);
  const holder =
    pid === undefined ? 'another program' : escapeControl(`process ${pid} on ${host ?? ''}`);
  const age = Math.max(0, Math.round((Date.now() - (seen?.modifiedMs ?? Date.now())) / 1000));
  return (
    options.timedOut?.(holder, age) ??
    new BerthError(
      'lock-timeout',
      `could not lock ${escapeControl(path)} within ${options.timeoutMs / 1000} s: ${holder} has held it for ${age} s`,
      { fields: { file: path } },
    )
  );
}
