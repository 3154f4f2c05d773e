import { type ProcessFacts, runningProcesses } from './processes.ts';

type Wanted = (uid: number) => boolean;

/** A look that has not begun, for one of those who wait for it. */
interface Waiting {
  readonly wanted: Wanted;
  readonly resolve: (found: readonly ProcessFacts[]) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Looks at all processes of the host, for a program that looks after many users: on a node with thousands of processes, a
 * look for each user takes longer than all else.
 */
export class ProcessLooks {
  readonly #longestMs: number;
  readonly #look: (wanted: Wanted) => Iterable<ProcessFacts>;
  #taken = -Infinity;
  #byUid: ReadonlyMap<number, readonly ProcessFacts[]> = new Map();
  #waiting: Waiting[] = [];

  /**
   * @param longestMs the age from which a recent look is taken again, milliseconds
   * @param look default: `runningProcesses`
   */
  constructor(
    longestMs: number,
    look: (wanted: Wanted) => Iterable<ProcessFacts> = runningProcesses,
  ) {
    this.#longestMs = longestMs;
    this.#look = look;
  }

  /**
   * The processes with one of these real UIDs, not root's, in a look that may have been taken before. It may lack what has
   * started since, so it is not for a decision to end something.
   */
  recent(wanted: Wanted): readonly ProcessFacts[] {
    const now = performance.now();
    if (now - this.#taken > this.#longestMs) {
      this.#byUid = Map.groupBy(
        this.#look((uid) => uid !== 0),
        ({ uid }) => uid,
      );
      this.#taken = now;
    }
    return ofUids(this.#byUid, wanted);
  }

  /**
   * The processes with one of these real UIDs, in a look that begins after the call. All that ask for one in the same turn of
   * the event loop share it.
   *
   * @throws system errors about /proc
   */
  fresh(wanted: Wanted): Promise<readonly ProcessFacts[]> {
    const { promise, resolve, reject } = Promise.withResolvers<readonly ProcessFacts[]>();
    this.#waiting.push({ wanted, resolve, reject });
    if (this.#waiting.length === 1) setImmediate(() => this.#lookForAll());
    return promise;
  }

  #lookForAll(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    try {
      const all = this.#look((uid) => waiting.some(({ wanted }) => wanted(uid)));
      const byUid = Map.groupBy(all, ({ uid }) => uid);
      for (const { wanted, resolve } of waiting) resolve(ofUids(byUid, wanted));
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  }
}

function ofUids(
  byUid: ReadonlyMap<number, readonly ProcessFacts[]>,
  wanted: Wanted,
): readonly ProcessFacts[] {
  return [...byUid].flatMap(([uid, processes]) => (wanted(uid) ? processes : []));
}
