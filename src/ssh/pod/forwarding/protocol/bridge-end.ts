import { bridgeError } from './bridge-error.ts';
import { kinds, number32 } from './frames.ts';
import { firstWindow, windowSize } from './limits.ts';

/** What one end of a bridged connection hears. */
export interface ConnectionSink {
  /** Valid during the call only. */
  data(bytes: Buffer): void;
  /** Nothing more comes. */
  end(): void;
  /** It is over; nothing is called after this. */
  closed(): void;
  /** Nothing more is to be sent until `room` is called. */
  full(): void;
  room(): void;
}

/** One connection of the bridge, this half's end. */
export interface Connection {
  send(bytes: Uint8Array): void;
  end(): void;
  close(): void;
  /** So many bytes of `data` have found their way, or never will: the other half may send as many. */
  taken(count: number): void;
}

/** What an end has in common with the others of its bridge. */
export interface EndContext {
  send(kind: number, payload?: Uint8Array): void;
  /** Nobody is to send data. */
  isFull(): boolean;
  /** Takes bytes of the window that all share, or gives them back (negative). @returns whether it has them */
  share(bytes: number): boolean;
  /** Nothing is heard of it any more. */
  over(): void;
  /** It is over, and nothing of it waits. */
  settled(): void;
}

const nothing: ConnectionSink = {
  data: () => undefined,
  end: () => undefined,
  closed: () => undefined,
  full: () => undefined,
  room: () => undefined,
};

/** The other half's credit grows by what was taken, and by this share of its window at least: else frames are mostly heads. */
const worthSaying = 4;

export class BridgeEnd implements Connection {
  readonly #context: EndContext;
  #sink = nothing;
  /** What may be sent; below zero by what the last piece had too much. */
  #credit = windowSize;
  /** What may come, and of how much that is. */
  #window = firstWindow;
  #limit = firstWindow;
  /** Heard, and not taken yet. */
  #waiting = 0;
  /** Taken, and not said yet. */
  #owed = 0;
  #full = false;
  #saidEnd = false;
  #heardEnd = false;
  #over = false;

  constructor(context: EndContext) {
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
    this.#context.send(kinds.data, bytes);
    this.look();
  }

  end(): void {
    if (this.#over || this.#saidEnd) return;
    this.#saidEnd = true;
    this.#context.send(kinds.end);
    if (this.#heardEnd) this.#finish();
  }

  close(): void {
    if (this.#over) return;
    this.#context.send(kinds.close);
    this.#finish();
  }

  /** The stream is gone. */
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

  /** Tells the sink whether there is room, where that has changed. */
  look(): void {
    const full = this.#credit <= 0 || this.#context.isFull();
    if (this.#over || full === this.#full) return;
    this.#full = full;
    if (full) this.#sink.full();
    else this.#sink.room();
  }

  /** @throws {BerthError} `forwarding-protocol` */
  heard(kind: number, payload: Buffer): void {
    if (kind === kinds.data) this.#heardData(payload);
    else if (kind === kinds.end) {
      if (this.#heardEnd) throw bridgeError('it ends a connection twice');
      this.#heardEnd = true;
      this.#sink.end();
      if (this.#saidEnd && !this.#over) this.#finish();
    } else if (kind === kinds.close) {
      this.#finish();
      this.#sink.closed();
    } else this.#heardWindow(payload.readUInt32BE());
  }

  #heardData(payload: Buffer): void {
    if (this.#heardEnd) throw bridgeError('it sends data on a connection that it has ended');
    if (payload.length > this.#window)
      throw bridgeError(`it sends ${payload.length} bytes where ${this.#window} may come`);
    this.#window -= payload.length;
    this.#waiting += payload.length;
    this.#sink.data(payload);
  }

  #heardWindow(count: number): void {
    if (count === 0 || this.#credit + count > windowSize)
      throw bridgeError(`it takes ${count} bytes where ${windowSize - this.#credit} were sent`);
    this.#credit += count;
    this.look();
  }

  #grant(): void {
    if (this.#heardEnd || this.#over) return;
    const more = windowSize - firstWindow;
    if (this.#limit < windowSize && this.#context.share(more)) {
      this.#limit = windowSize;
      this.#owed += more;
    }
    if (this.#owed < this.#limit / worthSaying) return;
    this.#context.send(kinds.window, number32(this.#owed));
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
    this.#context.share(this.#limit === windowSize ? firstWindow - windowSize : 0);
    this.#context.settled();
  }
}
