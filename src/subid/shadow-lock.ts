import { link, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { BerthError, isErrno } from '../errors.ts';
import { escapeControl } from '../log.ts';
import { temporaryName, writeError } from '../system/atomic-file.ts';

export interface ShadowLock {
  release(): Promise<void>;
}

/**
 * The lock that useradd, usermod and their kin take before they write a file of /etc: `FILE.lock`,
 * made by link(2), with the owner's process id in it (`do_lock_file` of shadow's lib/commonio.c). One
 * with a dead owner is removed, as those tools do it.
 *
 * Their lckpwdf(3), which comes first, is not taken: it is theirs against each other, and this file is
 * what they all look at before they write.
 *
 * @param waitMs How long to wait for others; shadow's tools wait 15 s for each other.
 * @throws `lock-timeout`, `lock-unreadable`, and what `writeError` makes of a full disk.
 */
export async function takeShadowLock(path: string, waitMs: number): Promise<ShadowLock> {
  const lock = `${path}.lock`;
  const temporary = temporaryName(path);
  try {
    await writeFile(temporary, `${process.pid}\0`, { flag: 'wx', mode: 0o600 });
    const end = performance.now() + waitMs;
    for (;;) {
      if (await tryLink(temporary, lock)) return { release: () => rm(lock, { force: true }) };
      const owner = await ownerOf(lock);
      if (owner === undefined) continue;
      if (!isAlive(owner.pid)) await removeDead(lock, owner, temporaryName(path));
      else if (performance.now() > end) throw await timedOut(lock, owner.pid, waitMs);
      else await sleep(20 + Math.random() * 30);
    }
  } catch (cause) {
    throw writeError(lock, cause);
  } finally {
    await rm(temporary, { force: true });
  }
}

async function tryLink(temporary: string, lock: string): Promise<boolean> {
  try {
    await link(temporary, lock);
    return true;
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false;
    throw error;
  }
}

interface Owner {
  readonly pid: number;
  /** Of the lock file: which one was judged. */
  readonly inode: number;
}

/** Nothing where the lock was given back in between. */
async function ownerOf(lock: string): Promise<Owner | undefined> {
  try {
    const file = await open(lock);
    try {
      const text = (await file.readFile('latin1')).replace(/\0[^]*$/, '').trim();
      const pid = /^[1-9]\d{0,9}$/.test(text) ? Number(text) : undefined;
      if (pid === undefined) throw unreadable(lock);
      return { pid, inode: (await file.stat()).ino };
    } finally {
      await file.close();
    }
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !isErrno(error, 'ESRCH');
  }
}

/**
 * Two that find the same dead lock: the slower one must not remove the lock that the quicker one has
 * made since. So it is moved aside, looked at, and put back where it is not the one that was judged.
 */
async function removeDead(lock: string, { inode }: Owner, aside: string): Promise<void> {
  try {
    await rename(lock, aside);
    if ((await stat(aside)).ino !== inode) await tryLink(aside, lock);
    await rm(aside);
  } catch (error) {
    if (!isErrno(error, 'ENOENT')) throw error;
  }
}

function unreadable(lock: string): BerthError {
  return new BerthError(`${lock} holds no process id`, {
    code: 'lock-unreadable',
    exit: 'temporary',
    hint: 'See that no useradd or usermod runs, then remove it: those tools wait for it as well.',
    fields: { file: lock },
  });
}

async function timedOut(lock: string, pid: number, waitMs: number): Promise<BerthError> {
  const command = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '');
  return new BerthError(
    `process ${pid} (${escapeControl(command.trim())}) held ${lock} for more than ${waitMs / 1000} s`,
    {
      code: 'lock-timeout',
      exit: 'temporary',
      hint: 'Try again. Where that process is no tool of the accounts, the lock is of one that died: remove it.',
      fields: { file: lock },
    },
  );
}
