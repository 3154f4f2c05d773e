import { BerthError } from '../errors/berth-error.ts';
import { type FileLock, takeLock } from '../system/file-lock.ts';

/** In a directory that only root can write. It is gone after a reboot. */
const file = '/run/berth-init.lock';

/**
 * The lock of all `berth init` on this host, from the first change to the last. That of a killed one is taken over.
 *
 * @throws {BerthError} `init-running` at once, if another process holds it; those of `takeLock`
 */
export async function takeInitLock(): Promise<FileLock | undefined> {
  return await takeLock(file, { waitMs: 0, foreignStaleMs: 0, timedOut: running });
}

function running(holder: string): BerthError {
  return new BerthError(`${holder} runs \`berth init\` too; nothing was written`, {
    code: 'init-running',
    hint: 'Wait until it has ended, then run this again: it shows what is left to do.',
  });
}
