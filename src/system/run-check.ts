import { asBerthError } from './errors/berth-error.ts';
import {
  type CheckId,
  type CheckResult,
  failed,
  failedWith,
  type Finding,
} from './errors/check-result.ts';

export type Check = (signal: AbortSignal) => Promise<Finding> | Finding;

/**
 * Runs one check with its own time limit, in milliseconds. Never rejects: an error is a failure of this
 * check only, and a check that hangs is abandoned.
 */
export async function runCheck(
  id: CheckId,
  check: Check,
  timeoutMs: number,
  cluster?: string,
): Promise<CheckResult> {
  const place = { id, cluster };
  const signal = AbortSignal.timeout(timeoutMs);
  let tooLate: (() => void) | undefined;
  const late = new Promise<Finding>((resolve) => {
    tooLate = () =>
      resolve(
        failed(
          `no answer within ${timeoutMs / 1000} s`,
          'Check whether the service or file system that this check uses is hanging.',
        ),
      );
    // Later than the check itself, which may react to the same signal with a more precise error.
    signal.addEventListener('abort', () => setTimeout(() => tooLate?.(), 50), { once: true });
  });
  try {
    return { ...place, ...(await Promise.race([(async () => check(signal))(), late])) };
  } catch (thrown) {
    return { ...place, ...failedWith(asBerthError(thrown, id)) };
  }
}
