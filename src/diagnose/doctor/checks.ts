import { type CheckId, type CheckResult } from '../../system/errors/check-result.ts';
import { type Check, runCheck } from '../../system/run-check.ts';

/** Runs checks of this host, each with its own time limit. */
export class Checks {
  readonly #timeoutMs: number;
  /** For `berth status`. */
  readonly onlyQuick: boolean;

  constructor(timeoutMs: number, onlyQuick = false) {
    this.#timeoutMs = timeoutMs;
    this.onlyQuick = onlyQuick;
  }

  /** One that takes some milliseconds: it reads files of this host, and asks nobody but systemd. */
  async quick(id: CheckId, check: Check): Promise<CheckResult[]> {
    return [await runCheck(id, check, this.#timeoutMs)];
  }

  /** Any other. @returns none if only quick ones are wanted */
  async slow(id: CheckId, check: Check): Promise<CheckResult[]> {
    return this.onlyQuick ? [] : this.quick(id, check);
  }
}
