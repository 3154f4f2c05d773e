/** One deadline over all that a hook does. */
export interface Deadline {
  /** Aborts when the time is over. */
  readonly signal: AbortSignal;
  /** Milliseconds left, at least 0. */
  remaining(): number;
}

/** The timer does not keep the process alive. */
export function deadlineIn(milliseconds: number): Deadline {
  const end = performance.now() + milliseconds;
  return {
    signal: AbortSignal.timeout(milliseconds),
    remaining: () => Math.max(0, end - performance.now()),
  };
}
