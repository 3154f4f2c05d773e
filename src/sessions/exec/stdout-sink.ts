import { constants, fstatSync, openSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { isErrno } from '../../system/errors/berth-error.ts';
import { isTerminal } from '../../system/controlling-terminal.ts';

/** Descriptor 1 or 2 of this process, written to without blocking. */
export interface StdoutSink {
  /** Writes the bytes, or keeps a copy. @returns false if it is full; then `onDrained` is called later */
  write(bytes: Buffer): boolean;
  onDrained: () => void;
  /** Called when writing fails: the reader has gone (EPIPE), or the disk is full (ENOSPC). */
  onBroken: (error: Error) => void;
  /** Resolves when everything is written, or writing has failed. */
  flushed(): Promise<void>;
}

/** At least what one read from the network yields, twice. Bytes. */
const heldSize = 128 * 1024;

/** Writes when the descriptor accepts more. */
interface Later {
  /** Writes what the kernel did not accept; calls back when done or failed. */
  write(bytes: Buffer, done: (error?: Error | null) => void): void;
}

export function processOutput(descriptor: 1 | 2): StdoutSink {
  if (isTerminal(descriptor)) return terminalOutput(descriptor);
  const stat = fstatSync(descriptor);
  if (!stat.isFIFO() && !stat.isSocket()) return output(descriptor, neverFull);
  // Makes the descriptor non-blocking; Node restores it when the process exits.
  const socket = new Socket({ fd: descriptor, readable: false, writable: true });
  // The callback of each write reports it as well.
  socket.on('error', () => undefined);
  return output(descriptor, socket);
}

function terminalOutput(descriptor: number): StdoutSink {
  const own = reopened(descriptor);
  return output(own, new TerminalQueue(own));
}

/**
 * Opens a non-blocking descriptor of its own: other processes use the terminal's descriptor too. After su(1), the
 * terminal belongs to somebody else and cannot be opened again; then this one is used as it is.
 */
function reopened(descriptor: number): number {
  try {
    const flags = constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
    return openSync(`/proc/self/fd/${descriptor}`, flags);
  } catch {
    return descriptor;
  }
}

/** Node cannot wait for a terminal to become writable, so it is tried again, at most every 50 ms. Keeps the order. */
class TerminalQueue implements Later {
  readonly #descriptor: number;
  readonly #queue: { bytes: Buffer; readonly done: (error?: Error) => void }[] = [];

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  write(bytes: Buffer, done: (error?: Error) => void): void {
    if (this.#queue.push({ bytes, done }) === 1) this.#askAgain(1);
  }

  #askAgain(wait: number): void {
    setTimeout(() => {
      let progress = false;
      for (let [first] = this.#queue; first !== undefined; [first] = this.#queue) {
        const { written, error } = writeSome(this.#descriptor, first.bytes);
        progress ||= written > 0;
        first.bytes = first.bytes.subarray(written);
        if (error === undefined && first.bytes.length > 0) {
          this.#askAgain(progress ? 1 : Math.min(50, wait * 2));
          return;
        }
        first.done(error);
        this.#queue.shift();
      }
    }, wait);
  }
}

/** For files and devices: the kernel accepts everything or fails. */
const neverFull: Later = {
  write: (_bytes, done) => done(Object.assign(new Error('a short write'), { code: 'ENOSPC' })),
};

function output(descriptor: number, later: Later): StdoutSink {
  const waiters: (() => void)[] = [];
  let waiting = 0;
  let broken = false;
  const held = new Held();
  const settle = (): void => {
    for (const resolve of waiters.splice(0)) resolve();
  };
  const self: StdoutSink = {
    onDrained: () => undefined,
    onBroken: () => undefined,
    write(bytes) {
      if (broken) return true;
      const { written, error } =
        waiting > 0 ? { written: 0, error: undefined } : writeSome(descriptor, bytes);
      if (error !== undefined) {
        fail(error);
        return true;
      }
      if (written === bytes.length) return true;
      waiting += 1;
      // The caller reuses its buffer.
      later.write(held.keep(bytes.subarray(written)), (failed) => {
        waiting -= 1;
        if (failed) fail(failed);
        else if (waiting === 0) {
          held.clear();
          settle();
          self.onDrained();
        }
      });
      return false;
    },
    flushed: () =>
      new Promise((resolve) => {
        if (waiting === 0 || broken) resolve();
        else waiters.push(resolve);
      }),
  };
  function fail(error: Error): void {
    if (broken) return;
    broken = true;
    settle();
    self.onBroken(error);
  }
  return self;
}

function writeSome(
  descriptor: number,
  bytes: Buffer,
): { readonly written: number; readonly error: Error | undefined } {
  let written = 0;
  while (written < bytes.length) {
    try {
      written += writeSync(descriptor, bytes, written);
    } catch (thrown) {
      if (isErrno(thrown, 'EAGAIN')) break;
      if (!isErrno(thrown, 'EINTR')) return { written, error: thrown as Error };
    }
  }
  return { written, error: undefined };
}

/** Holds unwritten bytes in one buffer that is reused: at most what one read yielded. */
class Held {
  #room = Buffer.alloc(0);
  #used = 0;

  keep(bytes: Buffer): Buffer {
    if (this.#room.length === 0) this.#room = Buffer.from(new ArrayBuffer(heldSize));
    const place = this.#room.subarray(this.#used, this.#used + bytes.length);
    if (place.length < bytes.length) return Buffer.from(bytes);
    this.#used += bytes.copy(place);
    return place;
  }

  /** Called when all of it is written. */
  clear(): void {
    this.#used = 0;
  }
}
