/** What the last run of the reaper recorded about users. */
export interface LastReapRound {
  /** UIDs that took too long. */
  readonly slow: ReadonlySet<number>;
  /** UIDs that were not handled, in the order of the queue. */
  readonly unreached: ReadonlySet<number>;
}

/**
 * The order in which users are handled: first those that the last run did not handle, longest waiting first, and
 * last those that took too long, so that they do not delay the others again.
 */
export function reapOrder(uids: readonly number[], { slow, unreached }: LastReapRound): number[] {
  const rank = (uid: number): number => (slow.has(uid) ? 2 : 0) + (unreached.has(uid) ? 0 : 1);
  const places = new Map([...unreached].map((uid, place) => [uid, place]));
  const place = (uid: number): number => places.get(uid) ?? uid;
  return uids.toSorted((one, other) => rank(one) - rank(other) || place(one) - place(other));
}

/** What to record for the next run. @param uids In the order of `reapOrder`. */
export function nextReapRound(
  uids: readonly number[],
  { slow }: LastReapRound,
  done: { readonly reached: ReadonlySet<number>; readonly late: ReadonlySet<number> },
): LastReapRound {
  const unreached = new Set(uids.filter((uid) => !done.reached.has(uid)));
  return {
    slow: new Set([...done.late, ...[...slow].filter((uid) => unreached.has(uid))]),
    unreached,
  };
}
