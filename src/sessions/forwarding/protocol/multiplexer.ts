import { isMapping, type Mapping } from '../../../system/text/mapping.ts';
import {
  encodeFrame,
  forwardingProtocolError,
  type Frame,
  frameKinds,
  MultiplexFrameReader,
} from './frames.ts';
import {
  MultiplexedConnection,
  type ForwardedConnection,
  type ConnectionSink,
} from './multiplexed-connection.ts';
import { maxConnections, sharedWindow } from './limits.ts';

export interface MultiplexerSink {
  /** The other side opens a connection. @returns undefined to refuse it */
  opened(target: string, connection: ForwardedConnection): ConnectionSink | undefined;
  word(value: Readonly<Record<string, unknown>>): void;
}

/**
 * Carries connections over one stream. The other side is not trusted: a violation of the protocol is thrown as
 * `forwarding-protocol`, and everything that it can make this side store is limited (`limits.ts`).
 */
export class Multiplexer {
  readonly #send: (bytes: Buffer) => boolean;
  readonly #sink: MultiplexerSink;
  readonly #ends = new Map<number, MultiplexedConnection>();
  readonly #reader = new MultiplexFrameReader((frame) => this.#frame(frame));
  /** Numbers of the last connections. Even numbers are ours, odd ones the helper's; both ascend. */
  #ours = 0;
  #theirs = -1;
  /** Connections that are open, or whose data is not yet written. */
  #held = 0;
  #shared = sharedWindow;
  #full = false;
  #over = false;

  /** @param send takes ownership of the bytes, and returns whether data may follow; otherwise `drained` is called later */
  constructor(send: (bytes: Buffer) => boolean, sink: MultiplexerSink) {
    this.#send = send;
    this.#sink = sink;
  }

  /** Processes bytes from the other side. @throws {BerthError} `forwarding-protocol` */
  push(bytes: Buffer): void {
    this.#reader.push(bytes);
  }

  say(word: object): void {
    this.#say(frameKinds.word, 0, Buffer.from(JSON.stringify(word)));
  }

  /** @returns false if the limit is reached or the stream has ended: then nothing is called */
  open(target: string, sink: (connection: ForwardedConnection) => ConnectionSink): boolean {
    if (this.#over || this.#held >= maxConnections) return false;
    this.#ours += 2;
    this.#say(frameKinds.open, this.#ours, Buffer.from(target));
    this.#add(this.#ours, sink);
    return true;
  }

  /** Data may be sent again. */
  drained(): void {
    this.#full = false;
    for (const end of [...this.#ends.values()]) end.look();
  }

  /** Closes all connections after the stream has ended. */
  closeAll(): void {
    this.#over = true;
    for (const end of [...this.#ends.values()]) end.lost();
    this.#ends.clear();
  }

  #say(kind: number, id: number, payload?: Uint8Array): void {
    if (this.#over || this.#send(encodeFrame(kind, id, payload)) || this.#full) return;
    this.#full = true;
    for (const end of this.#ends.values()) end.look();
  }

  #add(id: number, sink: (connection: ForwardedConnection) => ConnectionSink | undefined): void {
    const end = new MultiplexedConnection({
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

  /** @param bytes negative to return them. @returns whether there were enough */
  #share(bytes: number): boolean {
    if (bytes > this.#shared) return false;
    this.#shared -= bytes;
    return true;
  }

  #frame({ kind, connection: id, payload }: Frame): void {
    if (this.#over) return;
    if (kind === frameKinds.word) {
      if (id !== 0) throw forwardingProtocolError(`it sent a control message on connection ${id}`);
      this.#sink.word(wordOf(payload));
    } else if (kind === frameKinds.open) this.#opened(id, payload.toString('latin1'));
    else {
      const end = this.#ends.get(id);
      // For a connection that has ended, frames may have been in transit.
      if (end === undefined && !this.#was(id))
        throw forwardingProtocolError(`it sent a frame for connection ${id}, which was not opened`);
      end?.onFrame(kind, payload);
    }
  }

  #opened(id: number, target: string): void {
    if (id % 2 === 0 || id <= this.#theirs)
      throw forwardingProtocolError(`it opened connection ${id} after ${this.#theirs}`);
    this.#theirs = id;
    if (this.#held >= maxConnections) this.#say(frameKinds.close, id);
    else this.#add(id, (end) => this.#sink.opened(target, end));
  }

  #was(id: number): boolean {
    return id % 2 === 0 ? id > 0 && id <= this.#ours : id <= this.#theirs;
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** @throws {BerthError} `forwarding-protocol` */
function wordOf(payload: Buffer): Mapping {
  try {
    const value: unknown = JSON.parse(utf8.decode(payload));
    if (isMapping(value)) return value;
  } catch {
    // Reported below.
  }
  throw forwardingProtocolError('it sent a control message that is not a JSON object');
}
