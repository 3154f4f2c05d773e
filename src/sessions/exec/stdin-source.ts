import { fstatSync, read } from 'node:fs';
import { Socket } from 'node:net';
import { ReadStream } from 'node:tty';
import { isTerminal } from '../../system/controlling-terminal.ts';

/** Receives what is read. */
export interface StdinReader {
  /** Returns the buffer for the next bytes. */
  room(): Buffer;
  /** The buffer holds this many bytes. @returns false to stop reading until `resume` */
  filled(size: number): boolean;
  /** Called once, at the end of the input, also after an error. */
  ended(): void;
}

export interface StdinSource {
  start(reader: StdinReader): void;
  /** May be called at any time. */
  resume(): void;
  stop(): void;
}

/** Descriptor 0 of this process: a pipe or socket, a terminal, or a file. */
export function processStdin(): StdinSource {
  if (isTerminal(0)) return terminalInput();
  const stat = fstatSync(0);
  return stat.isFIFO() || stat.isSocket() ? socketInput() : fileInput();
}

/** Reads into the buffers of the reader: nothing is copied, and no garbage is created. */
function socketInput(): StdinSource {
  let socket: Socket | undefined;
  return {
    start(reader) {
      const ended = once(() => reader.ended());
      socket = new Socket({
        fd: 0,
        readable: true,
        writable: false,
        onread: { buffer: () => reader.room(), callback: (size) => reader.filled(size) },
      });
      socket.on('end', ended).on('error', ended).on('close', ended);
    },
    resume: () => void socket?.resume(),
    stop: () => void socket?.destroy(),
  };
}

function terminalInput(): StdinSource {
  const terminal = new ReadStream(0);
  terminal.pause();
  return {
    start(reader) {
      const ended = once(() => reader.ended());
      terminal.on('data', (typed: Buffer) => {
        for (let rest = typed; rest.length > 0;) {
          const size = rest.copy(reader.room());
          rest = rest.subarray(size);
          if (!reader.filled(size)) terminal.pause();
        }
      });
      terminal.on('end', ended).on('error', ended).on('close', ended);
      terminal.resume();
    },
    resume: () => void terminal.resume(),
    stop: () => void terminal.destroy(),
  };
}

function fileInput(): StdinSource {
  let next: (() => void) | undefined;
  let stopped = false;
  let waiting = false;
  return {
    start(reader) {
      next = () => {
        waiting = false;
        read(0, reader.room(), (error, size) => {
          if (stopped) return;
          if (error !== null || size === 0) {
            stopped = true;
            reader.ended();
          } else if (reader.filled(size)) next?.();
          else waiting = true;
        });
      };
      next();
    },
    resume: () => {
      if (waiting) next?.();
    },
    stop: () => {
      stopped = true;
    },
  };
}

function once(call: () => void): () => void {
  let called = false;
  return () => {
    if (!called) call();
    called = true;
  };
}

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
