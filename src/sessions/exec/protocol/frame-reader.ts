import { maxControlPayload, opcodes } from './frame.ts';
import { protocolError } from './exec-status.ts';

export interface FrameSink {
  /**
   * Receives bytes of a binary message as they arrive; messages are not collected.
   *
   * @param bytes valid only during the call
   * @param first whether a message begins with them; the message may be empty
   */
  message(bytes: Buffer, first: boolean): void;
  /** Receives a complete ping, pong or close frame. */
  control(opcode: number, payload: Buffer): void;
}

/**
 * Reads a server's frames (RFC 6455) from a stream that may be split anywhere: fragmented messages, control frames
 * between their fragments, all lengths.
 *
 * `push` throws `exec-protocol` for anything that a server must not send.
 */
export class FrameReader {
  readonly #sink: FrameSink;
  readonly #header = Buffer.alloc(10);
  #have = 0;
  /** Bytes of the payload that have not arrived; undefined while the header is incomplete. */
  #left: number | undefined;
  #control: { opcode: number; bytes: Buffer; have: number } | undefined;
  /** Whether the last fragment of a message has not arrived. */
  #open = false;
  #first = false;

  constructor(sink: FrameSink) {
    this.#sink = sink;
  }

  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#left === undefined) {
        this.#header[this.#have] = chunk[at] ?? 0;
        this.#have += 1;
        at += 1;
        if (this.#have >= this.#headerLength()) this.#begin();
        continue;
      }
      const part = chunk.subarray(at, at + this.#left);
      at += part.length;
      this.#left -= part.length;
      this.#take(part);
      if (this.#left === 0) this.#end();
    }
  }

  #headerLength(): number {
    if (this.#have < 2) return 2;
    const length = (this.#header[1] ?? 0) & 0x7f;
    return length < 126 ? 2 : length === 126 ? 4 : 10;
  }

  #begin(): void {
    const [one = 0, two = 0] = this.#header;
    const opcode = one & 0x0f;
    const final = (one & 0x80) !== 0;
    if ((one & 0x70) !== 0) throw protocolError('a frame of an extension that was not requested');
    if ((two & 0x80) !== 0) throw protocolError('a masked frame');
    const length = this.#length();
    this.#have = 0;
    this.#left = length;
    if (opcode >= opcodes.close) this.#beginControl(opcode, final, length);
    else this.#beginData(opcode, final);
    if (length > 0) return;
    if (this.#control === undefined) this.#take(Buffer.alloc(0));
    this.#end();
  }

  #beginControl(opcode: number, final: boolean, length: number): void {
    if (opcode > opcodes.pong) throw protocolError(`a frame with the unknown opcode ${opcode}`);
    if (!final || length > maxControlPayload)
      throw protocolError('a control frame that is fragmented or too long');
    this.#control = { opcode, bytes: Buffer.alloc(length), have: 0 };
  }

  #beginData(opcode: number, final: boolean): void {
    if (opcode === opcodes.continuation) {
      if (!this.#open) throw protocolError('a continuation frame without a message');
    } else {
      if (opcode !== opcodes.binary)
        throw protocolError(`a message with opcode ${opcode} instead of binary`);
      if (this.#open) throw protocolError('a message inside another message');
      this.#first = true;
    }
    this.#open = !final;
  }

  #length(): number {
    const short = (this.#header[1] ?? 0) & 0x7f;
    if (short < 126) return short;
    if (short === 126) return this.#header.readUInt16BE(2);
    const length = this.#header.readBigUInt64BE(2);
    if (length > BigInt(Number.MAX_SAFE_INTEGER))
      throw protocolError('a frame with an impossible length');
    return Number(length);
  }

  #take(part: Buffer): void {
    const control = this.#control;
    if (control === undefined) {
      const first = this.#first;
      this.#first = false;
      this.#sink.message(part, first);
    } else control.have += part.copy(control.bytes, control.have);
  }

  #end(): void {
    const control = this.#control;
    this.#left = undefined;
    this.#control = undefined;
    if (control !== undefined) this.#sink.control(control.opcode, control.bytes);
  }
}
