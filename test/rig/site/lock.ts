import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { once } from 'node:events';
import { execa } from 'execa';

/**
 * Runs `work` while this process holds flock(2) on `file`. A child process holds the lock and exits with
 * this process, so a killed process does not leave a lock behind.
 *
 * @param waiting called once if another process holds the lock
 */
export async function withLock<T>(
  file: string,
  waiting: () => void,
  work: () => Promise<T>,
): Promise<T> {
  await mkdir(dirname(file), { recursive: true });
  const holder = execa('flock', ['--exclusive', file, '-c', 'echo held; exec cat'], {
    reject: false,
    buffer: false,
  });
  const patience = setTimeout(waiting, 1000);
  try {
    await Promise.race([once(holder.stdout, 'data'), once(holder.stdout, 'end').then(gaveNoLock)]);
    clearTimeout(patience);
    return await work();
  } finally {
    clearTimeout(patience);
    holder.stdin.end();
    await holder;
  }
}

function gaveNoLock(): never {
  throw new Error('flock(1) exited without the lock; it is part of util-linux');
}
