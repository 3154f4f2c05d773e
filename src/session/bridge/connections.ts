import {
  bridgeFrame,
  BridgeReader,
  kinds,
  longestFrame,
  number32,
  windowSize,
  type Frame,
} from './frames.ts';

/** What one end of a bridged connection hears. */
export interface ConnectionSink {
  /** Valid during the call only. */
  data(bytes: Buffer): void;
  /** Nothing more comes. */
  end(): void;
  /** It is over; nothing is called after this. */
  closed(): void;
  /** There is room again. */
  room(): void;
}

export interface BridgeSink {
  /** The other half opens a connection. @returns nothing where it may not */
  opened(target: string, connection: Connection): ConnectionSink | undefined;
  word(value: unknown): void;
}

/** One connection of the bridge, this half's end. */
export interface Connection {
  /** @returns whether more may be sent at once; else `room` is called later */
  send(bytes: Uint8Array): boolean;
  end(): void;
  close(): void;
  /** So many bytes of `data` have found their way: the other half may send as many. */
  taken(count: number): void;
}

/** The connections of the bridge as this half sees them, by what it reads and writes. */
export class Connections {
  readonly #send: (bytes: Buffer) => void;
  readonly #sink: BridgeSink;
  readonly #ends = new Map<number, End>();
  readonly #reader = new BridgeReader((frame) => this.#frame(frame));
  /** Even numbers are ours, odd ones the helper's. */
  #next = 0;

  /** @param send Takes the bytes for its own. */
  constructor(send: (bytes: Buffer) => void, sink: BridgeSink) {
    this.#send = send;
    this.#sink = sink;
  }

  /** What came from the other half. @throws RangeError at what is no frame, or too much */
  push(bytes: Buffer): void {
    this.#reader.push(bytes);
  }

  say(word: object): void {
    this.#send(bridgeFrame(kinds.word, 0, Buffer.from(JSON.stringify(word))));
  }

  open(target: string, sink: (connection: Connection) => ConnectionSink): void {
    this.#next += 2;
    const id = this.#next;
    this.#send(bridgeFrame(kinds.open, id, Buffer.from(target)));
    this.#add(id, sink);
  }

  /** The stream is gone, and with it every connection. */
  closeAll(): void {
    for (const end of [...this.#ends.values()]) end.sink?.closed();
    this.#ends.clear();
  }

  #add(id: number, sink: (connection: Connection) => ConnectionSink | undefined): void {
    const end = new End((kind, payload) => this.#send(bridgeFrame(kind, id, payload)));
    end.onOver = () => this.#ends.delete(id);
    end.sink = sink(end);
    if (end.sink === undefined) end.close();
    else this.#ends.set(id, end);
  }

  #frame({ kind, connection, payload }: Frame): void {
    if (kind === kinds.word) this.#sink.word(JSON.parse(payload.toString('utf8')));
    else if (kind === kinds.open)
      this.#add(connection, (end) => this.#sink.opened(payload.toString('latin1'), end));
    // Of one that is over, something may have been on its way.
    else this.#ends.get(connection)?.heard(kind, payload);
  }
}

class End implements Connection {
  readonly #send: (kind: number, payload?: Uint8Array) => void;
  sink: ConnectionSink | undefined;
  onOver: () => void = () => undefined;
  #credit = windowSize;
  /** Heard, and not taken yet. */
  #waiting = 0;
  #full = false;
  #saidEnd = false;
  #heardEnd = false;
  #over = false;

  constructor(send: (kind: number, payload?: Uint8Array) => void) {
    this.#send = send;
  }

  send(bytes: Uint8Array): boolean {
    if (this.#over || this.#saidEnd) return true;
    this.#credit -= bytes.length;
    this.#send(kinds.data, bytes);
    this.#full = this.#credit <= 0;
    return !this.#full;
  }

  end(): void {
    if (this.#over || this.#saidEnd) return;
    this.#saidEnd = true;
    this.#send(kinds.end);
    if (this.#heardEnd) this.#finish();
  }

  close(): void {
    if (this.#over) return;
    this.#send(kinds.close);
    this.#finish();
  }

  taken(count: number): void {
    this.#waiting -= count;
    if (!this.#over && !this.#heardEnd) this.#send(kinds.window, number32(count));
  }

  heard(kind: number, payload: Buffer): void {
    if (kind === kinds.data) {
      this.#waiting += payload.length;
      // Whoever begins to send within the window may end beyond it, by one frame.
      if (this.#waiting > windowSize + longestFrame)
        throw new RangeError(`${this.#waiting} bytes, and none of them asked for`);
      this.sink?.data(payload);
    } else if (kind === kinds.end) {
      this.#heardEnd = true;
      this.sink?.end();
      if (this.#saidEnd) this.#finish();
    } else if (kind === kinds.close) {
      this.#finish();
      this.sink?.closed();
    } else if (kind === kinds.window) {
      this.#credit += payload.readUInt32BE();
      if (!this.#full || this.#credit <= 0) return;
      this.#full = false;
      this.sink?.room();
    }
  }

  #finish(): void {
    this.#over = true;
    this.onOver();
  }
}
