import { asBerthError, type BerthError } from './errors.ts';

export type CheckStatus = 'ok' | 'warning' | 'failed' | 'skipped';

/** What one check found. `id` and `status` are stable: monitoring alerts on them. */
export interface CheckResult {
  readonly id: string;
  /** OnDemand's name of the cluster, for a check of one. */
  readonly cluster?: string;
  readonly status: CheckStatus;
  readonly message: string;
  /** What to do; with every warning and failure. */
  readonly next?: string;
}

/** A check's own part of its result. */
export type Finding =
  | { readonly status: 'ok' | 'skipped'; readonly message: string }
  | { readonly status: 'warning' | 'failed'; readonly message: string; readonly next: string };

export const ok = (message: string): Finding => ({ status: 'ok', message });
export const skipped = (message: string): Finding => ({ status: 'skipped', message });
export const warning = (message: string, next: string): Finding => ({
  status: 'warning',
  message,
  next,
});
export const failed = (message: string, next: string): Finding => ({
  status: 'failed',
  message,
  next,
});

/** An error as a finding, with its own next step. */
export function failedBy({ message, hint }: Pick<BerthError, 'message' | 'hint'>): Finding {
  return failed(message, hint);
}

export interface Check {
  readonly id: string;
  readonly cluster?: string;
  readonly run: (signal: AbortSignal) => Promise<Finding> | Finding;
}

/**
 * Runs one check with a deadline of its own, in milliseconds. It always has a result: an error is a
 * failure of this check and of no other, and one that hangs is left behind.
 */
export async function runCheck(check: Check, timeoutMs: number): Promise<CheckResult> {
  const place = {
    id: check.id,
    ...(check.cluster === undefined ? {} : { cluster: check.cluster }),
  };
  const signal = AbortSignal.timeout(timeoutMs);
  let tooLate: (() => void) | undefined;
  const late = new Promise<Finding>((resolve) => {
    tooLate = () =>
      resolve(
        failed(
          `no answer within ${timeoutMs / 1000} s`,
          'See whether the service or file system behind it hangs.',
        ),
      );
    // A check that sees the same signal gets its turn first: its own error says more.
    signal.addEventListener('abort', () => setTimeout(() => tooLate?.(), 50), { once: true });
  });
  try {
    return { ...place, ...(await Promise.race([(async () => check.run(signal))(), late])) };
  } catch (thrown) {
    return { ...place, ...failedBy(asBerthError(thrown, check.id)) };
  }
}
