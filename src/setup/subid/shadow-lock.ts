import { link, open, readFile, rm, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { BerthError, expectErrno } from '../../system/errors/berth-error.ts';
import { escapeControl } from '../../log.ts';
import { writeError } from '../../system/atomic-file.ts';
import { lockIdentity, removeLockIfSame } from '../../system/file-lock.ts';
import { ifExists } from '../../system/if-present.ts';
import { isNoProcess, temporaryName } from '../../system/temporary-name.ts';

/** How long shadow's tools wait for others. */
const timeoutMs = 15_000;

/**
 * Works under the lock that useradd, usermod and related tools take before they write a file of /etc: `FILE.lock`, created by
 * link(2), containing the owner's PID (`do_lock_file` in shadow's lib/commonio.c). A lock of a dead process is
 * removed, as those tools do. Their lckpwdf(3) is not taken: all of them also check this file before they write.
 *
 * @throws {BerthError} `lock-timeout`, `lock-unreadable`, and the errors of `writeError` for a full disk
 */
export async function withShadowLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  const lock = `${path}.lock`;
  await take(path, lock);
  try {
    return await work();
  } finally {
    await rm(lock, { force: true });
  }
}

async function take(path: string, lock: string): Promise<void> {
  const temporary = temporaryName(path);
  try {
    await writeFile(temporary, `${process.pid}\0`, { flag: 'wx', mode: 0o600 });
    const end = performance.now() + timeoutMs;
    for (;;) {
      if (await tryLink(temporary, lock)) return;
      const owner = await ownerOf(lock);
      if (owner === undefined) continue;
      if (isNoProcess(owner.pid)) await removeLockIfSame(lock, owner.identity, path);
      else if (performance.now() > end) throw await timedOut(lock, owner.pid);
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
    expectErrno(error, 'EEXIST');
    return false;
  }
}

interface Owner {
  readonly pid: number;
  /** Of the lock file (`lockIdentity`). */
  readonly identity: string;
}

/** undefined if the lock has been released meanwhile. */
async function ownerOf(lock: string): Promise<Owner | undefined> {
  const file = await ifExists(open(lock));
  if (file === undefined) return undefined;
  try {
    const text = (await file.readFile('latin1')).replace(/\0[^]*$/, '').trim();
    const pid = /^[1-9]\d{0,9}$/.test(text) ? Number(text) : undefined;
    if (pid === undefined)
      throw new BerthError('lock-unreadable', `${lock} contains no process ID`, {
        fields: { file: lock },
      });
    return { pid, identity: lockIdentity(await file.stat({ bigint: true })) };
  } finally {
    await file.close();
  }
}

async function timedOut(lock: string, pid: number): Promise<BerthError> {
  const command = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '');
  return new BerthError(
    'lock-timeout',
    `process ${pid} (${escapeControl(command.trim())}) held ${lock} for more than ${timeoutMs / 1000} s`,
    {
      hint: 'Try again. If that process is not a tool that manages accounts, the lock is stale. Remove it.',
      fields: { file: lock },
    },
  );
}
