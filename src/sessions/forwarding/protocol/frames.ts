import { BerthError } from '../../../system/errors/berth-error.ts';
import { maxMessageLength, maxTargetLength, windowSize } from './limits.ts';

/**
 * Frames that carry connections and control messages over one stream. A frame consists of its kind (1 byte), the
 * connection (4 bytes), the length of the payload (4 bytes) and the payload.
 */

export const frameKinds = {
  /** Opens a connection to a target, such as `tcp:PORT` or `agent`. */
  open: 0,
  data: 1,
  /** No more data in this direction. */
  end: 2,
  /** The connection is closed, or could not be opened. */
  close: 3,
  /** This many bytes were taken: as many more may be sent. */
  window: 4,
  /** A control message in JSON, on connection 0. */
  word: 5,
} as const;

const headerSize = 9;

/** Smallest and largest payload of each kind, in bytes. */
const sizes: readonly (readonly [number, number])[] = [
  [1, maxTargetLength],
  [1, windowSize],
  [0, 0],
  [0, 0],
  [4, 4],
  [2, maxMessageLength],
];

export interface Frame {
  readonly kind: number;
  readonly connection: number;
  /** Valid only during the call. */
  readonly payload: Buffer;
}

export function encodeFrame(kind: number, connection: number, payload?: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(headerSize + (payload?.length ?? 0));
  bytes.writeUInt8(kind, 0);
  bytes.writeUInt32BE(connection, 1);
  bytes.writeUInt32BE(payload?.length ?? 0, 5);
  if (payload !== undefined) bytes.set(payload, headerSize);
  return bytes;
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/**
 * Reads frames from a stream that may be split anywhere. Each piece of a `data` frame is passed on as a frame of its own
 * when it arrives; other frames are assembled, in a buffer of the size in their header. `push` throws
 * `forwarding-protocol` for an invalid frame.
 */
export class MultiplexFrameReader {
  readonly #sink: (frame: Frame) => void;
  readonly #header = Buffer.alloc(headerSize);
  #have = 0;
  /** Bytes of the payload that have not arrived. */
  #left = 0;
  #payload = Buffer.alloc(0);

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
        if (this.#kind === frameKinds.data) this.#say(part);
        else part.copy(this.#payload, this.#payload.length - this.#left);
        this.#left -= part.length;
        at += part.length;
      }
      if (this.#left === 0) this.#end();
    }
  }

  get #kind(): number {
    return this.#header.readUInt8(0);
  }

  #begin(): void {
    const [kind, size] = [this.#kind, this.#header.readUInt32BE(5)];
    const allowed = sizes[kind];
    if (allowed === undefined)
      throw forwardingProtocolError(`it sent a frame of the unknown kind ${kind}`);
    const [least, most] = allowed;
    if (size < least || size > most)
      throw forwardingProtocolError(`it sent a frame of kind ${kind} with ${size} bytes`);
    this.#left = size;
    if (kind !== frameKinds.data) this.#payload = Buffer.alloc(size);
  }

  #end(): void {
    this.#have = 0;
    if (this.#kind !== frameKinds.data) this.#say(this.#payload);
  }

  #say(payload: Buffer): void {
    this.#sink({ kind: this.#kind, connection: this.#header.readUInt32BE(1), payload });
  }
}

/**
 * The forwarding helper in the pod sent something that Berth's program never sends. Forwarding ends, because its next byte
 * could mean anything. The session continues.
 */
export function forwardingProtocolError(what: string): BerthError {
  return new BerthError(
    'forwarding-protocol',
    `the forwarding helper in the pod violated the protocol: ${what}`,
  );
}
