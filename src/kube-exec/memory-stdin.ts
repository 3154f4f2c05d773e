import type { StdinSource, StdinReader } from './stdin-source.ts';

/** Standard input of a command from bytes in memory, which may be added over time. */
export class MemoryStdin implements StdinSource {
  #reader: StdinReader | undefined;
  #parts: Buffer[] = [];
  #full = false;
  #ended = false;

  constructor(...parts: readonly Buffer[]) {
    this.#parts.push(...parts);
  }

  push(bytes: Buffer): void {
    this.#parts.push(bytes);
    this.#pump();
  }

  /** Ends the input after everything that was pushed. */
  end(): void {
    this.#ended = true;
    this.#pump();
  }

  start(reader: StdinReader): void {
    this.#reader = reader;
    this.#pump();
  }

  resume(): void {
    this.#full = false;
    this.#pump();
  }

  stop(): void {
    this.#reader = undefined;
  }

  #pump(): void {
    for (let [part] = this.#parts; part !== undefined && !this.#full; [part] = this.#parts) {
      const reader = this.#reader;
      if (reader === undefined) return;
      const size = part.copy(reader.room());
      if (size === part.length) this.#parts.shift();
      else this.#parts[0] = part.subarray(size);
      this.#full = size > 0 && !reader.filled(size);
    }
    if (!this.#ended || this.#parts.length > 0) return;
    this.#reader?.ended();
    this.#reader = undefined;
  }
}
