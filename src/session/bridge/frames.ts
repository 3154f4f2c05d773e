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

export const headerSize = 9;

/** Bytes of a connection that may be on their way; both halves know it. */
export const windowSize = 256 * 1024;

/** No half sends more in one frame. */
const longestFrame = 1024 * 1024;

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

/** Puts frames together that a stream cut anywhere. `push` throws RangeError at what is no frame. */
export class BridgeReader {
  readonly #sink: (frame: Frame) => void;
  #rest: Buffer = Buffer.alloc(0);

  constructor(sink: (frame: Frame) => void) {
    this.#sink = sink;
  }

  /** @param chunk Not kept. */
  push(chunk: Buffer): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    while (bytes.length - at >= headerSize) {
      const length = bytes.readUInt32BE(at + 5);
      if (length > longestFrame) throw new RangeError(`a frame of ${length} bytes`);
      const end = at + headerSize + length;
      if (bytes.length < end) break;
      this.#sink({
        kind: bytes.readUInt8(at),
        connection: bytes.readUInt32BE(at + 1),
        payload: bytes.subarray(at + headerSize, end),
      });
      at = end;
    }
    this.#rest = Buffer.from(bytes.subarray(at));
  }
}
