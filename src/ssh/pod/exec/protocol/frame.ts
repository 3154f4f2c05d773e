import { xorable, xorInPlace } from './xor.ts';

/**
 * Frames of RFC 6455 as a client sends them: never in fragments (the API server takes each frame for a
 * message of its own), always masked.
 */

export const opcodes = {
  continuation: 0,
  text: 1,
  binary: 2,
  close: 8,
  ping: 9,
  pong: 10,
} as const;

/** RFC 6455, 5.5. */
export const longestControl = 125;

/** Bytes before the payload at most: two, the 64-bit length, the mask. */
const longestHeader = 14;

/** Where the payload stands in a slot: behind the longest header, aligned for what masks it. */
const payloadAt = 16;

/** Room for a message of so many bytes with what a frame puts before it; taken once (`xorable`). */
export function messageSlot(size: number): Buffer {
  return xorable(payloadAt + 1 + size);
}

/** The part of a slot that is the message's own: what is read from standard input lands here. */
export function messageBody(slot: Buffer): Buffer {
  return slot.subarray(payloadAt + 1);
}

/**
 * The frame of a message on a channel whose first `length` bytes stand in the slot's body already. They are
 * masked where they stand: the slot holds nothing else afterwards.
 *
 * @param key Four bytes that nobody can foretell (RFC 6455, 5.3).
 */
export function messageInSlot(slot: Buffer, channel: number, length: number, key: Buffer): Buffer {
  slot[payloadAt] = channel;
  const end = payloadAt + 1 + length;
  xorInPlace(slot.subarray(payloadAt, end), key);
  const header = headerOf(opcodes.binary, 1 + length, key);
  const start = payloadAt - header.length;
  header.copy(slot, start);
  return slot.subarray(start, end);
}

/** The frame of a message, or of a control frame, of which somebody else holds the bytes. */
export function frame(opcode: number, payload: Buffer, key: Buffer): Buffer {
  const header = headerOf(opcode, payload.length, key);
  const bytes = Buffer.concat([header, payload]);
  xorInPlace(bytes.subarray(header.length), key);
  return bytes;
}

/** RFC 6455, 5.5.1: the code, then UTF-8. */
export function closePayload(code: number): Buffer {
  const payload = Buffer.alloc(2);
  payload.writeUInt16BE(code);
  return payload;
}

function headerOf(opcode: number, length: number, key: Buffer): Buffer {
  const header = Buffer.alloc(longestHeader);
  header[0] = 0x80 | opcode;
  let end = 2;
  if (length < 126) header[1] = 0x80 | length;
  else if (length < 65_536) {
    header[1] = 0x80 | 126;
    end = header.writeUInt16BE(length, 2);
  } else {
    header[1] = 0x80 | 127;
    end = header.writeBigUInt64BE(BigInt(length), 2);
  }
  return header.subarray(0, end + key.copy(header, end));
}
