/**
 * XOR with a repeated 32-bit word, 16 bytes at a time, in WebAssembly. The relay runs without V8's optimizing compilers
 * (`disableJit`), and without them a loop in JavaScript takes forty times as long.
 *
 *     (module
 *       (memory (export "memory") 32 32)
 *       (func (export "xor") (param $at i32) (param $end i32) (param $word i32) (local $words v128)
 *         (local.set $words (i32x4.splat (local.get $word)))
 *         (loop
 *           (v128.store (local.get $at)
 *             (v128.xor (v128.load (local.get $at)) (local.get $words)))
 *           (br_if 0 (i32.lt_u
 *             (local.tee $at (i32.add (local.get $at) (i32.const 16)))
 *             (local.get $end))))))
 */
const module_ = [
  '0061736d01000000', // magic and version
  '0107' + '0160037f7f7f00', // types
  '0302' + '0100', // functions
  '0504' + '01012020', // memory: 32 pages of 64 KiB; only used pages take memory
  '0710' + '02' + '066d656d6f7279' + '0200' + '03786f72' + '0000', // exports
  '0a2b' + '0129' + '01017b', // code
  '2002fd112103' + '0340' + '20002000fd0004002003fd51fd0b0400',
  '200041106a22002001490d00' + '0b0b',
].join('');

/** The part of WebAssembly that is used here: TypeScript declares it only with the browser's types. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: Exports };
};

interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly xor: (at: number, end: number, word: number) => void;
}

let made: Exports | undefined;

/**
 * Creates the instance at the first use, after `disableJit` has set how V8 compiles it.
 *
 * @returns undefined if the address space is limited and Node was not started for that: PAM's hook runs with the limits
 *   of the session that it closes
 */
function exports_(): Exports | undefined {
  try {
    made ??= new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(module_, 'hex'))).exports;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  return made;
}

/** Bytes that are processed at once. */
const stride = 16;
let used = 0;

/**
 * Allocates a buffer that `xorInPlace` can change fast. It is never freed, so allocate it once and reuse it. When the
 * memory for such buffers is used up, a plain buffer is returned, which works too.
 *
 * @param size in bytes
 */
function allocateXorBuffer(size: number): Buffer {
  const fast = exports_()?.memory.buffer;
  const room = Math.ceil(size / stride) * stride;
  if (fast === undefined || used + room > fast.byteLength)
    return Buffer.from(new ArrayBuffer(size));
  used += room;
  return Buffer.from(fast, used - room, size);
}

/**
 * XORs bytes with a repeated word.
 *
 * @param bytes from `allocateXorBuffer`, starting at a multiple of 16; up to 15 bytes after them may change as well
 * @param word four bytes
 */
function xorInPlace(bytes: Buffer, word: Buffer): void {
  const { byteOffset: at, length } = bytes;
  if (bytes.buffer !== made?.memory.buffer)
    for (let i = 0; i < length; i += 1) bytes[i] = (bytes[i] ?? 0) ^ (word[i % 4] ?? 0);
  else if (length > 0) made.xor(at, at + length, word.readInt32LE());
}

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
