import { forwardingProtocolError, frameKinds, uint32 } from './frames.ts';
import { initialWindow, windowSize } from './limits.ts';

/** Receives what arrives on a forwarded connection. */
export interface ConnectionSink {
  /** Receives data. The bytes are valid only during the call. */
  data(bytes: Buffer): void;
  /** No more data will arrive. */
  end(): void;
  /** The connection is closed. Nothing is called after this. */
  closed(): void;
  /** Do not send until `room` is called. */
  full(): void;
  room(): void;
}

/** One forwarded connection, seen from this side. */
export interface ForwardedConnection {
  send(bytes: Uint8Array): void;
  end(): void;
  close(): void;
  /** This many bytes of `data` have been written or discarded: the other side may send as many more. */
  taken(count: number): void;
}

/** What the connections of one stream share. */
export interface ConnectionContext {
  send(kind: number, payload?: Uint8Array): void;
  /** Whether no connection may send data now. */
  isFull(): boolean;
  /** Takes bytes from the shared window, or returns them (negative). @returns whether there were enough */
  share(bytes: number): boolean;
  /** The connection has ended. */
  over(): void;
  /** It has ended, and none of its data waits to be written. */
  settled(): void;
}

const nothing: ConnectionSink = {
  data: () => undefined,
  end: () => undefined,
  closed: () => undefined,
  full: () => undefined,
  room: () => undefined,
};

/** The other side's credit is increased in steps of at least this fraction of its window, to send fewer frames. */
const worthSaying = 4;

export class MultiplexedConnection implements ForwardedConnection {
  readonly #context: ConnectionContext;
  #sink = nothing;
  /** How much may be sent. Negative if the last piece exceeded it. */
  #credit = windowSize;
  /** How much may arrive now, and the size of the window. */
  #window = initialWindow;
  #limit = initialWindow;
  /** Received, and not yet taken. */
  #waiting = 0;
  /** Taken, and not yet reported to the other side. */
  #owed = 0;
  #full = false;
  #saidEnd = false;
  #heardEnd = false;
  #over = false;

  constructor(context: ConnectionContext) {
    this.#context = context;
  }

  get isOver(): boolean {
    return this.#over;
  }

  begin(sink: ConnectionSink): void {
    this.#sink = sink;
    this.look();
    this.#grant();
  }

  send(bytes: Uint8Array): void {
    if (this.#over || this.#saidEnd) return;
    this.#credit -= bytes.length;
    this.#context.send(frameKinds.data, bytes);
    this.look();
  }

  end(): void {
    if (this.#over || this.#saidEnd) return;
    this.#saidEnd = true;
    this.#context.send(frameKinds.end);
    if (this.#heardEnd) this.#finish();
  }

  close(): void {
    if (this.#over) return;
    this.#context.send(frameKinds.close);
    this.#finish();
  }

  /** The stream has ended. */
  lost(): void {
    if (this.#over) return;
    this.#finish();
    this.#sink.closed();
  }

  taken(count: number): void {
    this.#waiting -= count;
    this.#owed += count;
    if (this.#over) this.#settle();
    else this.#grant();
  }

  /** Tells the sink if it has changed whether data may be sent. */
  look(): void {
    const full = this.#credit <= 0 || this.#context.isFull();
    if (this.#over || full === this.#full) return;
    this.#full = full;
    if (full) this.#sink.full();
    else this.#sink.room();
  }

  /** @throws {BerthError} `forwarding-protocol` */
  onFrame(kind: number, payload: Buffer): void {
    if (kind === frameKinds.data) this.#onData(payload);
    else if (kind === frameKinds.end) {
      if (this.#heardEnd) throw forwardingProtocolError('it ended a connection twice');
      this.#heardEnd = true;
      this.#sink.end();
      if (this.#saidEnd && !this.#over) this.#finish();
    } else if (kind === frameKinds.close) {
      this.#finish();
      this.#sink.closed();
    } else this.#onWindow(payload.readUInt32BE());
  }

  #onData(payload: Buffer): void {
    if (this.#heardEnd)
      throw forwardingProtocolError('it sent data on a connection that it had ended');
    if (payload.length > this.#window)
      throw forwardingProtocolError(
        `it sent ${payload.length} bytes with a window of ${this.#window}`,
      );
    this.#window -= payload.length;
    this.#waiting += payload.length;
    this.#sink.data(payload);
  }

  #onWindow(count: number): void {
    if (count === 0 || this.#credit + count > windowSize)
      throw forwardingProtocolError(
        `it acknowledged ${count} bytes when ${windowSize - this.#credit} were sent`,
      );
    this.#credit += count;
    this.look();
  }

  #grant(): void {
    if (this.#heardEnd || this.#over) return;
    const more = windowSize - initialWindow;
    if (this.#limit < windowSize && this.#context.share(more)) {
      this.#limit = windowSize;
      this.#owed += more;
    }
    if (this.#owed < this.#limit / worthSaying) return;
    this.#context.send(frameKinds.window, uint32(this.#owed));
    this.#window += this.#owed;
    this.#owed = 0;
  }

  #finish(): void {
    this.#over = true;
    this.#context.over();
    this.#settle();
  }

  #settle(): void {
    if (this.#waiting > 0) return;
    this.#context.share(this.#limit === windowSize ? initialWindow - windowSize : 0);
    this.#context.settled();
  }
}
