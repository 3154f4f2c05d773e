/** Of users: what the last round says of them. */
export interface LastRound {
  /** UIDs whose turn took too long. */
  readonly slow: ReadonlySet<number>;
  /** UIDs whose turn did not come, in the order in which they waited. */
  readonly unreached: ReadonlySet<number>;
}

/**
 * In which order users are handled: those first whose turn did not come, and last those who took too long,
 * so that nobody else's turn waits for that again. Among these, too, those first whose turn did not come. Who
 * has waited longest stands first among those: it is a queue, which nobody passes.
 */
export function reapOrder(uids: readonly number[], { slow, unreached }: LastRound): number[] {
  const rank = (uid: number): number => (slow.has(uid) ? 2 : 0) + (unreached.has(uid) ? 0 : 1);
  const places = new Map([...unreached].map((uid, place) => [uid, place]));
  const place = (uid: number): number => places.get(uid) ?? uid;
  return uids.toSorted((one, other) => rank(one) - rank(other) || place(one) - place(other));
}

/** What the next round is told. @param uids In the order of `reapOrder`. */
export function nextRound(
  uids: readonly number[],
  { slow }: LastRound,
  done: { readonly reached: ReadonlySet<number>; readonly late: ReadonlySet<number> },
): LastRound {
  const unreached = new Set(uids.filter((uid) => !done.reached.has(uid)));
  return {
    slow: new Set([...done.late, ...[...slow].filter((uid) => unreached.has(uid))]),
    unreached,
  };
}
