import { allocateXorBuffer, xorInPlace } from './xor.ts';

/**
 * WebSocket frames (RFC 6455) of a client: always masked, and never fragmented, because the API server treats each frame
 * as a message.
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
export const maxControlPayload = 125;

/** The longest header: two bytes, the 64-bit length and the mask. */
const longestHeader = 14;

/** Offset of the payload in a slot: after the longest header, aligned for `xorInPlace`. */
const payloadAt = 16;

/** A buffer for a message of this size and its frame header. It is never freed (`allocateXorBuffer`). */
export function messageSlot(size: number): Buffer {
  return allocateXorBuffer(payloadAt + 1 + size);
}

/** The part of a slot for the data of the message: standard input is read into it. */
export function messageBody(slot: Buffer): Buffer {
  return slot.subarray(payloadAt + 1);
}

/**
 * The frame of a message on a channel, whose data is the first `length` bytes of the slot's body. The data is masked in
 * place.
 *
 * @param key four unpredictable bytes (RFC 6455, 5.3)
 */
export function frameInSlot(slot: Buffer, channel: number, length: number, key: Buffer): Buffer {
  slot[payloadAt] = channel;
  const end = payloadAt + 1 + length;
  xorInPlace(slot.subarray(payloadAt, end), key);
  const header = headerOf(opcodes.binary, 1 + length, key);
  const start = payloadAt - header.length;
  header.copy(slot, start);
  return slot.subarray(start, end);
}

/** The frame of a message or a control message, as a copy. */
export function frameOf(opcode: number, payload: Buffer, key: Buffer): Buffer {
  const header = headerOf(opcode, payload.length, key);
  const bytes = Buffer.concat([header, payload]);
  xorInPlace(bytes.subarray(header.length), key);
  return bytes;
}

/** RFC 6455, 5.5.1. */
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
