import { constants, fstatSync, openSync, writeSync } from 'node:fs';
import type { LogFields, LoggedEvent } from '../log.ts';
import { countedFields } from './text/spooled-event.ts';

/** Root's. `berth metrics` makes it, and without it no event is kept. */
export const spoolDir = '/run/berth/metrics';

/** The events that `berth metrics` has not counted yet, one in a line. */
export const spoolFile = 'events';

/** Ten minutes of 20 logins a second on ten clusters. More is not kept, and `berth metrics` says so. Bytes. */
export const mostOfSpool = 16 * 1024 * 1024;

/**
 * Keeps what one of root's programs logs, so that `berth metrics` counts it. A login waits for an append to a file in
 * memory; what fails here fails no login.
 */
export class EventSpool {
  readonly #program: string;
  readonly #directory: string;
  #lines = '';
  /** Kept open: later the process may have the rights of a user. Undefined before the first event, null without a spool. */
  #file: number | null | undefined;

  /** @param directory only for tests */
  constructor(program: string, directory = spoolDir) {
    this.#program = program;
    this.#directory = directory;
  }

  /** For `lineLogger`. */
  readonly observe = ({ event, fields }: LoggedEvent): void => {
    this.add(event, fields);
  };

  add(event: string, fields: LogFields = {}): void {
    const line: Record<string, unknown> = { program: this.#program, event };
    for (const key of countedFields) if (fields[key] !== undefined) line[key] = fields[key];
    this.#lines += `${JSON.stringify(line)}\n`;
  }

  /** Opens the spool, before the process may have the rights of a user. */
  open(): void {
    if (this.#file === undefined) this.#file = openSpool(`${this.#directory}/${spoolFile}`);
  }

  /** Appends the events at once: the kernel does not mix appends. Without a spool, or to a full one, it does nothing. */
  write(): void {
    // A line that a full disk has cut must not spoil the next.
    const text = `\n${this.#lines}`;
    if (this.#lines === '') return;
    this.#lines = '';
    this.open();
    if (this.#file === null || this.#file === undefined) return;
    try {
      if (fstatSync(this.#file).size < mostOfSpool) writeSync(this.#file, text);
    } catch {
      // No space.
    }
  }
}

function openSpool(path: string): number | null {
  try {
    return openSync(path, constants.O_WRONLY | constants.O_APPEND | constants.O_NOFOLLOW);
  } catch {
    return null;
  }
}
