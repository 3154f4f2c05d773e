/** The longest from one question to the next, in milliseconds. */
const longestMs = 60_000;

/**
 * Asks what is wrong, again and again, for as long as a command says nothing to what it was sent. An exec
 * stream over a node that is dead is silent until TCP gives up, which takes a quarter of an hour.
 */
export class UnansweredInput {
  readonly #firstMs: number;
  readonly #ask: () => void;
  #timer: NodeJS.Timeout | undefined;

  /** @param firstMs How long a command may take for its first word, in milliseconds. */
  constructor(firstMs: number, ask: () => void) {
    this.#firstMs = firstMs;
    this.#ask = ask;
  }

  /** The command was sent something. */
  sent(): void {
    if (this.#timer === undefined) this.#wait(this.#firstMs);
  }

  /** The command has said something, or will never be asked again. */
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
