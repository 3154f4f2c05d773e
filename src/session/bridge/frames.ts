/**
 * The bridge's frames: connections and words of the two halves over one stream. A frame is its kind (1
 * byte), the connection (4 bytes), the length of what follows (4 bytes), and that.
 */

export const kinds = {
  /** A connection, and to what: `tcp:PORT`, `agent`. */
  open: 0,
  data: 1,
  /** No more data this way. */
  end: 2,
  /** The connection is over, or never came to be. */
  close: 3,
  /** So many bytes were taken: as many more may come. */
  window: 4,
  /** JSON from one half to the other, of no connection. */
  word: 5,
} as const;

const headerSize = 9;

/** Bytes of a connection that may be on their way; both halves know it. */
export const windowSize = 256 * 1024;

/** No half sends more in one frame. */
export const longestFrame = 1024 * 1024;

export interface Frame {
  readonly kind: number;
  readonly connection: number;
  /** Valid during the call only. */
  readonly payload: Buffer;
}

export function bridgeFrame(kind: number, connection: number, payload?: Uint8Array): Buffer {
  const bytes = Buffer.alloc(headerSize + (payload?.length ?? 0));
  bytes.writeUInt8(kind, 0);
  bytes.writeUInt32BE(connection, 1);
  bytes.writeUInt32BE(payload?.length ?? 0, 5);
  if (payload !== undefined) bytes.set(payload, headerSize);
  return bytes;
}

export function number32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/**
 * Reads frames from a stream that is cut anywhere. Of `data` every piece is handed on as it comes, as a
 * frame of its own; the others are put together. `push` throws RangeError at what is no frame.
 */
export class BridgeReader {
  readonly #sink: (frame: Frame) => void;
  readonly #header = Buffer.alloc(headerSize);
  #have = 0;
  /** Bytes of the payload that have not come. */
  #left = 0;
  #parts: Buffer[] = [];

  constructor(sink: (frame: Frame) => void) {
    this.#sink = sink;
  }

  /** @param chunk Not kept. */
  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#have < headerSize) {
        const count = chunk.copy(this.#header, this.#have, at);
        this.#have += count;
        at += count;
        if (this.#have < headerSize) return;
        this.#begin();
      } else {
        const part = chunk.subarray(at, at + this.#left);
        this.#left -= part.length;
        at += part.length;
        if (this.#header.readUInt8(0) === kinds.data) this.#say(part);
        else this.#parts.push(Buffer.from(part));
      }
      if (this.#left === 0) this.#end();
    }
  }

  #begin(): void {
    this.#left = this.#header.readUInt32BE(5);
    if (this.#left > longestFrame) throw new RangeError(`a frame of ${this.#left} bytes`);
  }

  #end(): void {
    if (this.#header.readUInt8(0) !== kinds.data) this.#say(Buffer.concat(this.#parts));
    this.#parts = [];
    this.#have = 0;
  }

  #say(payload: Buffer): void {
    const kind = this.#header.readUInt8(0);
    this.#sink({ kind, connection: this.#header.readUInt32BE(1), payload });
  }
}
