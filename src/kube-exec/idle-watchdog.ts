/** The longest time between two checks, in milliseconds. */
const longestMs = 60_000;

/**
 * Calls `ask` repeatedly while a command does not react to its input. The exec stream to a dead node stays silent until
 * TCP gives up, which takes a quarter of an hour.
 */
export class IdleWatchdog {
  readonly #firstMs: number;
  readonly #ask: () => void;
  #timer: NodeJS.Timeout | undefined;

  /** @param firstMs time until the first check, in milliseconds; it doubles up to a minute */
  constructor(firstMs: number, ask: () => void) {
    this.#firstMs = firstMs;
    this.#ask = ask;
  }

  /** Input was sent to the command. */
  sent(): void {
    if (this.#timer === undefined) this.#wait(this.#firstMs);
  }

  /** The command has written output, or has ended. */
  heard(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #wait(milliseconds: number): void {
    this.#timer = setTimeout(() => {
      this.#wait(Math.min(2 * milliseconds, longestMs));
      this.#ask();
    }, milliseconds).unref();
  }
}
