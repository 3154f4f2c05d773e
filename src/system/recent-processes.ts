import { type ProcessFacts, runningProcesses } from './processes.ts';

/**
 * One look at all processes of the host, for a program that looks after one user after the other: on a node with thousands of
 * processes, a look for each user takes longer than all else. It may lack what has started since, so it is not for a decision to
 * end something.
 */
export class RecentProcesses {
  readonly #longestMs: number;
  readonly #look: () => Iterable<ProcessFacts>;
  #taken = -Infinity;
  #byUid: ReadonlyMap<number, readonly ProcessFacts[]> = new Map();

  /**
   * @param longestMs the age from which it is taken again, milliseconds
   * @param look default: `runningProcesses`
   */
  constructor(longestMs: number, look: () => Iterable<ProcessFacts> = runningProcesses) {
    this.#longestMs = longestMs;
    this.#look = look;
  }

  /** The processes with one of these real UIDs. */
  of(wanted: (uid: number) => boolean): readonly ProcessFacts[] {
    const now = performance.now();
    if (now - this.#taken > this.#longestMs) {
      this.#byUid = Map.groupBy(this.#look(), ({ uid }) => uid);
      this.#taken = now;
    }
    return [...this.#byUid].flatMap(([uid, processes]) => (wanted(uid) ? processes : []));
  }
}
