import { BerthError } from '../../system/errors/berth-error.ts';
import type { Logger } from '../../log.ts';
import type { Deadline } from '../../system/deadline.ts';
import { removeDeadLock, takeLock } from '../../system/file-lock.ts';

/**
 * kubectl holds its lock while it reads and writes one small file: milliseconds, or seconds if the home is slow.
 * A lock of this age, in milliseconds, belongs to a kubectl that was killed.
 */
const deadAfterMs = 30_000;

/** Time before the deadline, in milliseconds, that finding out the holder may take on a busy host. */
const toExplainMs = 500;

/**
 * Runs `work` while holding kubectl's lock on a kubeconfig.
 *
 * The protocol is client-go's (tools/clientcmd/loader.go, `lockFile`): a process that creates `FILE.lock` with
 * O_EXCL holds the lock, and removes the file to release it. kubectl does not wait for the lock but fails, so `work`
 * must be short.
 *
 * A kubectl that was killed leaves its lock. It is removed, with a warning, when it is older than 30 s by the file
 * server's clock.
 *
 * @throws {BerthError} `kubeconfig-locked` when the deadline comes first; `file-system-read-only`,
 *   `write-not-permitted`, `disk-full` or `disk-quota-exceeded` when no lock can be created
 */
export async function withKubeconfigLock<T>(
  file: string,
  limits: { readonly deadline: Deadline; readonly log: Logger },
  work: () => Promise<T>,
): Promise<T> {
  const lock = await takeLock(`${file}.lock`, {
    ...staleLock(file, limits.log),
    timeoutMs: limits.deadline.remaining() - toExplainMs,
    timedOut: (holder, age) => locked(file, holder, age),
  });
  try {
    return await work();
  } finally {
    await lock?.release();
  }
}

/** Removes the lock on a kubeconfig that needs no change if the process that holds it has ended, because kubectl fails if the lock exists. */
export async function clearDeadLock(file: string, log: Logger): Promise<void> {
  await removeDeadLock(`${file}.lock`, staleLock(file, log));
}

function staleLock(file: string, log: Logger): Parameters<typeof removeDeadLock>[1] {
  return {
    foreignStaleMs: deadAfterMs,
    staleMs: deadAfterMs,
    onTakenOver: (ageSeconds) =>
      log.warning('removed the lock that a killed process left on a kubeconfig', {
        code: 'kubeconfig-lock-taken-over',
        file: `${file}.lock`,
        age_seconds: ageSeconds,
      }),
  };
}

function locked(file: string, holder: string, ageSeconds: number): BerthError {
  const lock = `${file}.lock`;
  return new BerthError(
    'kubeconfig-locked',
    `${file} has been locked by ${holder} for ${ageSeconds} s`,
    {
      hint: `If the user runs no kubectl on any host: rm ${lock}`,
      fields: { file: lock },
    },
  );
}
