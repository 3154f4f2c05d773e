import { pidsByUid, type PidsByUid, pidsOf, type ProcessFacts, processFacts } from './processes.ts';

type Wanted = (uid: number) => boolean;

/** A look that has not begun, for one of those who wait for it. */
interface Waiting {
  readonly wanted: Wanted;
  readonly resolve: (found: readonly ProcessFacts[]) => void;
  readonly reject: (error: unknown) => void;
}

/** Where processes are looked up. */
interface ProcessSource {
  /** As `pidsByUid`. */
  readonly pids: () => PidsByUid;
  /** As `processFacts`. */
  readonly facts: (pid: number) => ProcessFacts | undefined;
}

/**
 * Looks at all processes of the host, for a program that looks after many users: on a node with thousands of processes, a
 * look for each user takes longer than all else. Of users who are not asked for, only the PIDs are looked at: a user's process can hold up
 * all other looks at it (`pidsByUid`).
 */
export class ProcessLooks {
  readonly #longestMs: number;
  readonly #source: ProcessSource;
  #taken = -Infinity;
  #pids: PidsByUid = new Map();
  #waiting: Waiting[] = [];

  /**
   * @param longestMs the age from which a recent list of PIDs is taken again, milliseconds
   * @param source default: /proc
   */
  constructor(longestMs: number, source: ProcessSource = { pids: pidsByUid, facts: processFacts }) {
    this.#longestMs = longestMs;
    this.#source = source;
  }

  /**
   * The processes with one of these real UIDs, in a list of PIDs that may have been taken before. It may lack what has
   * started since, so it is not for a decision to end something.
   */
  recent(wanted: Wanted): readonly ProcessFacts[] {
    const now = performance.now();
    if (now - this.#taken > this.#longestMs) {
      this.#pids = this.#source.pids();
      this.#taken = now;
    }
    return this.#factsOf(this.#pids, wanted);
  }

  /**
   * The processes with one of these real UIDs, in a list of PIDs that is taken after the call. All that ask for one in the same turn of
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
      const pids = this.#source.pids();
      for (const { wanted, resolve } of waiting) resolve(this.#factsOf(pids, wanted));
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  }

  #factsOf(byUid: PidsByUid, wanted: Wanted): readonly ProcessFacts[] {
    return pidsOf(byUid, wanted)
      .flatMap((pid) => this.#source.facts(pid) ?? [])
      .filter(({ uid }) => wanted(uid));
  }
}
