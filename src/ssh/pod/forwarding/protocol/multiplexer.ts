import { bridgeError } from './bridge-error.ts';
import { BridgeEnd, type Connection, type ConnectionSink } from './bridge-end.ts';
import { bridgeFrame, BridgeReader, kinds, type Frame } from './frames.ts';
import { mostConnections, sharedWindow } from './limits.ts';

export interface BridgeSink {
  /** The other half opens a connection. @returns nothing where it may not */
  opened(target: string, connection: Connection): ConnectionSink | undefined;
  word(value: Readonly<Record<string, unknown>>): void;
}

/**
 * The connections of the bridge as this half sees them, by what it reads and writes. The other half is
 * believed nothing: what no honest one says is thrown as `forwarding-protocol`, and everything that it can make
 * this half keep is counted (`limits.ts`).
 */
export class Connections {
  readonly #send: (bytes: Buffer) => boolean;
  readonly #sink: BridgeSink;
  readonly #ends = new Map<number, BridgeEnd>();
  readonly #reader = new BridgeReader((frame) => this.#frame(frame));
  /** Even numbers are ours, odd ones the helper's; either counts upwards. */
  #ours = 0;
  #theirs = -1;
  /** Of connections that stand, and of those that are over and have bytes that nobody has taken yet. */
  #held = 0;
  #shared = sharedWindow;
  #full = false;
  #over = false;

  /** @param send Takes the bytes for its own. @returns whether data may follow; else `drained` is called later */
  constructor(send: (bytes: Buffer) => boolean, sink: BridgeSink) {
    this.#send = send;
    this.#sink = sink;
  }

  /** What came from the other half. @throws {BerthError} `forwarding-protocol` */
  push(bytes: Buffer): void {
    this.#reader.push(bytes);
  }

  say(word: object): void {
    this.#say(kinds.word, 0, Buffer.from(JSON.stringify(word)));
  }

  /** @returns false where there are as many as may be, or the stream is gone: then nothing is called */
  open(target: string, sink: (connection: Connection) => ConnectionSink): boolean {
    if (this.#over || this.#held >= mostConnections) return false;
    this.#ours += 2;
    this.#say(kinds.open, this.#ours, Buffer.from(target));
    this.#add(this.#ours, sink);
    return true;
  }

  /** What was sent is on its way: data may follow. */
  drained(): void {
    this.#full = false;
    for (const end of [...this.#ends.values()]) end.look();
  }

  /** The stream is gone, and with it every connection. */
  closeAll(): void {
    this.#over = true;
    for (const end of [...this.#ends.values()]) end.lost();
    this.#ends.clear();
  }

  #say(kind: number, id: number, payload?: Uint8Array): void {
    if (this.#over || this.#send(bridgeFrame(kind, id, payload)) || this.#full) return;
    this.#full = true;
    for (const end of this.#ends.values()) end.look();
  }

  #add(id: number, sink: (connection: Connection) => ConnectionSink | undefined): void {
    const end = new BridgeEnd({
      send: (kind, payload) => this.#say(kind, id, payload),
      isFull: () => this.#full,
      share: (bytes) => this.#share(bytes),
      over: () => void this.#ends.delete(id),
      settled: () => (this.#held -= 1),
    });
    this.#held += 1;
    const its = sink(end);
    if (its === undefined) end.close();
    if (its === undefined || end.isOver) return;
    this.#ends.set(id, end);
    end.begin(its);
  }

  /** @param bytes Negative where they are given back. @returns whether there are so many */
  #share(bytes: number): boolean {
    if (bytes > this.#shared) return false;
    this.#shared -= bytes;
    return true;
  }

  #frame({ kind, connection: id, payload }: Frame): void {
    if (this.#over) return;
    if (kind === kinds.word) {
      if (id !== 0) throw bridgeError(`it sends a word of connection ${id}`);
      this.#sink.word(wordOf(payload));
    } else if (kind === kinds.open) this.#opened(id, payload.toString('latin1'));
    else {
      const end = this.#ends.get(id);
      // Of one that is over, something may have been on its way.
      if (end === undefined && !this.#was(id))
        throw bridgeError(`it speaks of connection ${id}, which nobody opened`);
      end?.heard(kind, payload);
    }
  }

  #opened(id: number, target: string): void {
    if (id % 2 === 0 || id <= this.#theirs)
      throw bridgeError(`it opens connection ${id} after ${this.#theirs}`);
    this.#theirs = id;
    if (this.#held >= mostConnections) this.#say(kinds.close, id);
    else this.#add(id, (end) => this.#sink.opened(target, end));
  }

  #was(id: number): boolean {
    return id % 2 === 0 ? id > 0 && id <= this.#ours : id <= this.#theirs;
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** @throws {BerthError} `forwarding-protocol` */
function wordOf(payload: Buffer): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(utf8.decode(payload));
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Readonly<Record<string, unknown>>;
  } catch {
    // Below.
  }
  throw bridgeError('it says a word that is no JSON object');
}
