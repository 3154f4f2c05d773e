import { asBerthError } from '../../../errors.ts';
import type { Logger } from '../../../log.ts';
import { freeLock, type OwnerLock } from '../../../system/owner-lock.ts';

export interface UserSeatsInput {
  /** The user's own, which all sessions of the user on this host know. */
  readonly folder: string;
  /** What is counted; a name of files. */
  readonly name: string;
  /** How many blocks a user has, and how many seats are in each. */
  readonly blocks: number;
  readonly size: number;
  readonly log: Logger;
}

/** Seats that nobody needs are given back after this, in milliseconds. */
const idleMs = 5000;

/** Milliseconds. */
const refusedMs = 1000;

/**
 * A number of things that one user may have on this host, over all sessions. The count lives in lock files
 * of the user's own folder, one for a block of seats, which a session takes and gives back whole: one that
 * was killed loses its blocks to the next that asks (`freeLock`).
 */
export class UserSeats {
  readonly #input: UserSeatsInput;
  readonly #blocks = new Map<number, OwnerLock>();
  #used = 0;
  #work: Promise<unknown> = Promise.resolve();
  #told = false;
  #over = false;
  /** Nobody is asked before: a flood is refused without a look at the files. */
  #refusedUntil = 0;
  #idle: NodeJS.Timeout | undefined;

  constructor(input: UserSeatsInput) {
    this.#input = input;
  }

  /** One after the other. @returns false where the user has as many already; that is logged once */
  take(): Promise<boolean> {
    const taken = this.#work.then(() => this.#take());
    this.#work = taken;
    return taken;
  }

  give(): void {
    this.#used -= 1;
    // Who comes and goes takes no lock each time.
    this.#idle ??= setTimeout(() => {
      this.#idle = undefined;
      this.#work = this.#work.then(() => this.#shrink()).catch(() => undefined);
    }, idleMs).unref();
  }

  /** Gives back what this session has. */
  async end(): Promise<void> {
    this.#over = true;
    clearTimeout(this.#idle);
    await this.#work;
    for (const lock of this.#blocks.values()) await lock.release();
    this.#blocks.clear();
  }

  async #take(): Promise<boolean> {
    if (this.#over || performance.now() < this.#refusedUntil) return false;
    const { size, blocks, name, log } = this.#input;
    try {
      if (this.#used < this.#blocks.size * size || (await this.#grow())) {
        this.#used += 1;
        return true;
      }
      if (!this.#told)
        log.warning('not forwarded: the limit of this user on this host is reached', {
          ...{ what: name, most: blocks * size },
        });
    } catch (thrown) {
      if (!this.#told)
        log.error(asBerthError(thrown, 'reading the lock files of the limit on forwards'));
    }
    this.#told = true;
    this.#refusedUntil = performance.now() + refusedMs;
    return false;
  }

  async #grow(): Promise<boolean> {
    const { folder, name, blocks } = this.#input;
    for (let block = 0; block < blocks; block += 1) {
      if (this.#blocks.has(block)) continue;
      const lock = await freeLock(`${folder}/${name}.${block}.lock`);
      if (lock === undefined) continue;
      this.#blocks.set(block, lock);
      return true;
    }
    return false;
  }

  async #shrink(): Promise<void> {
    const { size } = this.#input;
    while (this.#blocks.size > 0 && this.#used <= (this.#blocks.size - 1) * size) {
      const [last] = [...this.#blocks].slice(-1);
      if (last === undefined) return;
      this.#blocks.delete(last[0]);
      await last[1].release();
    }
  }
}
