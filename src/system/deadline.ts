/** A deadline for several operations together. */
export interface Deadline {
  /** Aborts at the deadline. */
  readonly signal: AbortSignal;
  /** Milliseconds left, at least 0. */
  remaining(): number;
}

/** A deadline from now on. Its timer does not keep the process alive. */
export function deadlineIn(milliseconds: number): Deadline {
  const end = performance.now() + milliseconds;
  return {
    signal: AbortSignal.timeout(milliseconds),
    remaining: () => Math.max(0, end - performance.now()),
  };
}
