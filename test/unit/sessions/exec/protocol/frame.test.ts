import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { buildSync } from 'esbuild';
import { describe, expect, it } from 'vitest';
import {
  closePayload,
  frameOf,
  messageBody,
  frameInSlot,
  messageSlot,
  opcodes,
} from '../../../../../src/sessions/exec/protocol/frame.ts';

const key = Buffer.from('37fa213d', 'hex');

/** As a server reads it (RFC 6455, 5.2 and 5.3), written here from the RFC once more. */
function unmasked(bytes: Buffer): { opcode: number; payload: Buffer; rest: number } {
  const short = (bytes[1] ?? 0) & 0x7f;
  const at = short < 126 ? 2 : short === 126 ? 4 : 10;
  const length =
    short < 126 ? short : short === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  const mask = bytes.subarray(at, at + 4);
  const payload = Buffer.from(bytes.subarray(at + 4, at + 4 + length)).map(
    (byte, index) => byte ^ (mask[index % 4] ?? 0),
  );
  return {
    opcode: (bytes[0] ?? 0) & 0x0f,
    payload: Buffer.from(payload),
    rest: bytes.length - at - 4 - length,
  };
}

describe("a client's frame", () => {
  it('is the masked "Hello" of RFC 6455, 5.7', () => {
    expect(frameOf(opcodes.text, Buffer.from('Hello'), key).toString('hex')).toBe(
      '818537fa213d7f9f4d5158',
    );
  });

  it('is always final and masked', () => {
    for (const opcode of [opcodes.binary, opcodes.ping, opcodes.close])
      expect([...frameOf(opcode, Buffer.alloc(2), key).subarray(0, 2)]).toEqual([
        0x80 | opcode,
        0x82,
      ]);
  });

  it('says its close code as two bytes', () => {
    expect(unmasked(frameOf(opcodes.close, closePayload(1000), key)).payload.toString('hex')).toBe(
      '03e8',
    );
  });
});

const early = messageSlot(65_536);
/** There is fast room for 31 of this size. */
const late = Array.from({ length: 40 }, () => messageSlot(65_536)).at(-1) ?? early;

describe.each([
  ['a slot', early],
  ['a slot that came late', late],
])('a message in %s', (_which, slot) => {
  const sizes = [0, 1, 2, 3, 4, 123, 124, 125, 126, 65_533, 65_534, 65_535, 65_536];

  it.each(sizes)('of %i bytes is what stood in the body, behind its channel', (size) => {
    const body = randomBytes(size);
    body.copy(messageBody(slot));
    const sent = unmasked(frameInSlot(slot, 0, size, randomBytes(4)));
    expect(sent.opcode).toBe(opcodes.binary);
    expect(sent.rest).toBe(0);
    expect(sent.payload.equals(Buffer.concat([Buffer.from([0]), body]))).toBe(true);
  });

  it('can be used again', () => {
    for (const text of ['first and long', 'second']) {
      messageBody(slot).write(text);
      const { payload } = unmasked(frameInSlot(slot, 4, text.length, randomBytes(4)));
      expect(payload.toString()).toBe(`\u0004${text}`);
    }
  });

  it('leaves the others as they are', () => {
    const [one, other] = [messageSlot(10), messageSlot(10)];
    messageBody(other).write('0123456789');
    for (let size = 0; size <= 10; size += 1) frameInSlot(one, 0, size, randomBytes(4));
    expect(messageBody(other).toString()).toBe('0123456789');
  });
});

it('is also masked if a limit of the address space prevents WebAssembly', () => {
  const contents = `
    import { messageBody, frameInSlot, messageSlot } from './frame.ts';
    const slot = messageSlot(100);
    messageBody(slot).write('Hello');
    console.log(frameInSlot(slot, 0, 5, Buffer.from('37fa213d', 'hex')).toString('hex'));`;
  const resolveDir = new URL('../../../../../src/sessions/exec/protocol', import.meta.url).pathname;
  const { outputFiles } = buildSync({
    ...{ stdin: { contents, resolveDir }, bundle: true, platform: 'node', write: false },
  });
  // Node's own way to strip types is WebAssembly itself.
  const words = [process.execPath, '-e', outputFiles[0]?.text ?? ''];
  const limited = ['-c', 'ulimit -v 4000000; exec "$@"', 'limited', ...words];
  const said = execFileSync('/bin/bash', limited, { encoding: 'utf8' });
  const { payload } = unmasked(Buffer.from(said.trim(), 'hex'));
  expect(payload.toString()).toBe('\0Hello');
});
