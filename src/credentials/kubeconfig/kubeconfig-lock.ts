import { readFileSync, readlinkSync } from 'node:fs';
import { link, lstat, readlink, rename, symlink, unlink } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { BerthError, isErrno } from '../../errors.ts';
import { escapeControl, type Logger } from '../../log.ts';
import { temporaryName, writeError } from '../../system/atomic-file.ts';
import type { Deadline } from '../../system/deadline.ts';

/**
 * kubectl holds its lock while it reads and writes one small file: milliseconds, or seconds on a
 * home that is slow. A lock of this age, in milliseconds, belongs to a kubectl that was killed.
 */
const deadAfter = 30_000;

/** Between two tries, in milliseconds. */
const pause = 15;

/** Milliseconds before the deadline: to find out who holds it takes a while on a busy host or a slow home. */
const toExplain = 500;

/**
 * Runs the work while holding kubectl's lock on a kubeconfig.
 *
 * The protocol is client-go's (tools/clientcmd/loader.go, `lockFile`): whoever creates
 * `FILE.lock` with O_EXCL holds it, removing it gives it back, and kubectl does not wait but fails;
 * so do little in it. Ours is a symlink, which keeps kubectl out all the same and says in one step
 * whose it is: a hook that was killed is known by its process id, without waiting for any age.
 *
 * A kubectl that was killed leaves its lock for ever. It is taken over with a warning when it is
 * older than 30 s by the file server's own clock.
 *
 * @throws `kubeconfig-locked` when the deadline comes first, `read-only`, `write-not-permitted`,
 *   `disk-full`, `disk-quota-exceeded` when no lock can be made
 */
export async function withKubeconfigLock<T>(
  file: string,
  limits: { readonly deadline: Deadline; readonly log: Logger },
  work: () => Promise<T>,
): Promise<T> {
  const lock = `${file}.lock`;
  const self = describeSelf();
  while (!(await tryToTake(lock, self))) {
    if (await removeDead(lock, self, limits.log)) continue;
    if (limits.deadline.remaining() <= toExplain) throw await locked(file, lock);
    await sleep(pause);
  }
  try {
    return await work();
  } finally {
    await release(lock, self);
  }
}

/**
 * Removes the lock on a kubeconfig that needs no change, if its holder is dead: kubectl would fail at
 * it until somebody takes it over.
 */
export async function removeDeadLock(file: string, log: Logger): Promise<void> {
  await removeDead(`${file}.lock`, describeSelf(), log);
}

/** `berth:BOOT:PIDS:PID:NONCE`: boot and pid namespace make the process id mean one process. */
interface Self {
  readonly world: string;
  readonly target: string;
}

function describeSelf(): Self {
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  const world = `berth:${boot}:${readlinkSync('/proc/self/ns/pid').replace(/\D/g, '')}:`;
  return { world, target: `${world}${process.pid}:${randomBytes(6).toString('hex')}` };
}

async function tryToTake(lock: string, self: Self): Promise<boolean> {
  try {
    await symlink(self.target, lock);
    return true;
  } catch (cause) {
    if (isErrno(cause, 'EEXIST')) return false;
    throw writeError(lock, cause);
  }
}

/** Gives back our own lock only: one that was taken over from us is somebody else's by now. */
async function release(lock: string, self: Self): Promise<void> {
  if ((await targetOf(lock)) === self.target) await unlink(lock);
}

/** One lock, told apart from the next of the same name: inode numbers are used again. */
interface Seen {
  readonly identity: string;
  readonly modified: number;
  readonly target: string | undefined;
}

async function look(lock: string): Promise<Seen | undefined> {
  try {
    const { dev, ino, mtimeNs, mtimeMs } = await lstat(lock, { bigint: true });
    return {
      identity: `${dev}:${ino}:${mtimeNs}`,
      modified: Number(mtimeMs),
      target: await targetOf(lock),
    };
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/**
 * Removes the lock if its holder is dead; true when another try is worth it. Only one of ours at a
 * time may: it holds `LOCK.takeover`, or else two that judged the same dead lock could remove the
 * successor's. kubectl takes over nothing.
 */
async function removeDead(lock: string, self: Self, log: Logger): Promise<boolean> {
  const seen = await look(lock);
  if (seen === undefined) return true;
  if (!mayBeDead(seen, self, Date.now())) return false;
  const claim = `${lock}.takeover`;
  if (!(await tryToTake(claim, self))) return removeDeadClaim(claim, self);
  try {
    // Both times are the file server's now: this machine's clock has no part in the verdict.
    const now = (await look(claim))?.modified ?? 0;
    const still = await look(lock);
    if (still?.identity !== seen.identity || !mayBeDead(still, self, now)) return false;
    if (!(await removeExactly(lock, seen))) return false;
    log.warning('removed the lock that a killed process left on a kubeconfig', {
      code: 'kubeconfig-lock-taken-over',
      file: lock,
      age_seconds: Math.round((now - seen.modified) / 1000),
    });
    return true;
  } finally {
    await release(claim, self);
  }
}

/** A claim is held for a few calls. Ours names its process, so a killed one is known too. */
async function removeDeadClaim(claim: string, self: Self): Promise<boolean> {
  const seen = await look(claim);
  if (seen !== undefined && mayBeDead(seen, self, Date.now())) await removeExactly(claim, seen);
  return false;
}

function mayBeDead(seen: Seen, self: Self, now: number): boolean {
  if (seen.target?.startsWith(self.world) === true) {
    const pid = Number(seen.target.slice(self.world.length).split(':')[0]);
    if (Number.isSafeInteger(pid) && pid > 0 && isGone(pid)) return true;
  }
  return now - seen.modified > deadAfter;
}

function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    // EPERM is an answer of the living.
    return isErrno(error, 'ESRCH');
  }
}

/**
 * Removes the lock that was seen, and no other: by rename to a name of our own, where it can be
 * looked at in peace. If its holder woke up and another took its place just now, it is put back.
 */
async function removeExactly(lock: string, seen: Seen): Promise<boolean> {
  // Should we be killed here: the next writer of the kubeconfig sweeps such names up.
  const aside = temporaryName(lock.replace(/\.lock(\.takeover)?$/, ''));
  try {
    await rename(lock, aside);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return true;
    throw error;
  }
  const same = (await look(aside))?.identity === seen.identity;
  if (!same) await putBack(aside, lock);
  await unlink(aside);
  return same;
}

async function putBack(aside: string, lock: string): Promise<void> {
  try {
    await link(aside, lock);
  } catch (error) {
    // A third one is in its place already, and holds the lock like any other.
    if (!isErrno(error, 'EEXIST')) throw error;
  }
}

async function targetOf(lock: string): Promise<string | undefined> {
  try {
    return await readlink(lock);
  } catch (error) {
    // EINVAL: kubectl's own, a plain file.
    if (isErrno(error, 'EINVAL', 'ENOENT')) return undefined;
    throw error;
  }
}

async function locked(file: string, lock: string): Promise<BerthError> {
  const seen = await look(lock);
  const age = seen === undefined ? 0 : Math.max(0, Math.round((Date.now() - seen.modified) / 1000));
  const holder = seen?.target === undefined ? 'a kubectl' : escapeControl(seen.target);
  return new BerthError(`${file} is locked by ${holder} since ${age} s`, {
    code: 'kubeconfig-locked',
    exit: 'temporary',
    hint: `If no kubectl of the user runs on any host: rm ${lock}`,
    fields: { file: lock },
  });
}
