import { asBerthError } from '../../system/errors/berth-error.ts';
import type { Logger } from '../../log.ts';
import { tryLock, type FileLock } from '../../system/file-lock.ts';

export interface UserQuotaInput {
  /** A directory of the user that all of the user's sessions on this host share. */
  readonly directory: string;
  /** What is counted; part of the names of the lock files. */
  readonly name: string;
  /** How many blocks a user has, and the number of items in each. */
  readonly blocks: number;
  readonly size: number;
  readonly log: Logger;
}

/** Unused blocks are released after this time. Milliseconds. */
const idleMs = 5000;

/** How long to refuse without looking at the lock files, after the limit was reached. Milliseconds. */
const refusedMs = 1000;

/**
 * Limits how many items one user has on this host, over all sessions. The count is kept in lock files in the user's
 * directory, one for each block of items. A session takes and releases whole blocks; those of a killed session are taken
 * over by the next one that needs them (`tryLock`).
 */
export class UserQuota {
  readonly #input: UserQuotaInput;
  readonly #blocks = new Map<number, FileLock>();
  #used = 0;
  #work: Promise<unknown> = Promise.resolve();
  #told = false;
  #over = false;
  /** Until this time, requests are refused without looking at the files, so a flood costs nothing. */
  #refusedUntil = 0;
  #idle: NodeJS.Timeout | undefined;

  constructor(input: UserQuotaInput) {
    this.#input = input;
  }

  /** Takes one item. @returns false if the limit is reached, which is logged once */
  take(): Promise<boolean> {
    const taken = this.#work.then(() => this.#take());
    this.#work = taken;
    return taken;
  }

  give(): void {
    this.#used -= 1;
    // Delayed, so that items which come and go do not take a lock each time.
    this.#idle ??= setTimeout(() => {
      this.#idle = undefined;
      this.#work = this.#work.then(() => this.#shrink()).catch(() => undefined);
    }, idleMs).unref();
  }

  /** Releases everything that this session holds. */
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
        log.warning('not forwarded: this user has reached the limit on this host', {
          what: name,
          most: blocks * size,
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
    const { directory, name, blocks } = this.#input;
    for (let block = 0; block < blocks; block += 1) {
      if (this.#blocks.has(block)) continue;
      const lock = await tryLock(`${directory}/${name}.${block}.lock`);
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
