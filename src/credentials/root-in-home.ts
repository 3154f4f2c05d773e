import { runDir } from '../config/schema/default-settings.ts';
import { BerthError } from '../system/errors/berth-error.ts';
import type { User } from '../system/identity/nss.ts';
import { asRoot } from '../system/as-user.ts';
import type { Deadline } from '../system/deadline.ts';
import { type FileLock, takeLock } from '../system/file-lock.ts';
import { ensureRootDirectory } from '../system/safe-directories.ts';

/** Time before the deadline, in milliseconds, to say who holds the lock. */
const toExplainMs = 500;

/**
 * Does what touches a user's home while no other process of root does. With a FUSE file system of their own users can make a process
 * wait for ever, beyond SIGKILL, so there is one for each user: it holds the lock as long as it exists.
 *
 * @throws {BerthError} `home-busy`, `directory-unsafe`, what `work` throws
 */
export async function inHome<T>(
  user: User,
  deadline: Deadline,
  work: () => Promise<T>,
): Promise<T> {
  if (process.getuid?.() !== 0) return work();
  const held = await asRoot(() => lockHome(user, deadline));
  try {
    return await work();
  } finally {
    // After the deadline, work may go on in the background: the lock then ends with the process.
    if (!deadline.signal.aborted) await asRoot(() => held?.release());
  }
}

function lockHome({ uid, name, home }: User, deadline: Deadline): Promise<FileLock | undefined> {
  const directory = `${runDir}/homes`;
  ensureRootDirectory(directory);
  return takeLock(`${directory}/${uid}.lock`, {
    timeoutMs: deadline.remaining() - toExplainMs,
    foreignStaleMs: 0,
    timedOut: (holder, ageSeconds) =>
      new BerthError(
        'home-busy',
        `gave up waiting for the home of ${name}: ${holder}, also of root, has been working there for ${ageSeconds} s`,
        { fields: { user: name, file: home } },
      ),
  });
}
