import { describe, expect, it } from 'vitest';
import { FrameReader } from '../../../../../src/sessions/exec/protocol/frame-reader.ts';

/** A frame as a server sends it. */
function served(first: number, payload: Buffer): Buffer {
  const { length } = payload;
  const header = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  header[0] = first;
  if (length < 126) header[1] = length;
  else if (length < 65_536) {
    header[1] = 126;
    header.writeUInt16BE(length, 2);
  } else {
    header[1] = 127;
    header.writeBigUInt64BE(BigInt(length), 2);
  }
  return Buffer.concat([header, payload]);
}

const final = 0x80;
const [continuation, text, binary, close, ping, pong] = [0, 1, 2, 8, 9, 10];

interface Read {
  readonly messages: string[];
  readonly controls: (readonly [number, string])[];
}

function reader(): { readonly read: Read; readonly frames: FrameReader } {
  const read: Read = { messages: [], controls: [] };
  const frames = new FrameReader({
    message(bytes, first) {
      const before = first ? '' : (read.messages.pop() ?? '');
      read.messages.push(before + bytes.toString('latin1'));
    },
    control: (opcode, payload) => void read.controls.push([opcode, payload.toString('latin1')]),
  });
  return { read, frames };
}

function readAll(bytes: Buffer, pieces: number): Read {
  const { read, frames } = reader();
  for (let at = 0; at < bytes.length; at += pieces) frames.push(bytes.subarray(at, at + pieces));
  return read;
}

const long = 'x'.repeat(70_000);
const conversation = Buffer.concat([
  served(final | binary, Buffer.from('\u0001hello')),
  served(final | ping, Buffer.from('still there?')),
  served(final | binary, Buffer.alloc(0)),
  served(binary, Buffer.from('frag')),
  served(final | pong, Buffer.alloc(0)),
  served(continuation, Buffer.alloc(0)),
  served(final | continuation, Buffer.from('ments')),
  served(final | binary, Buffer.from('y'.repeat(200))),
  served(final | binary, Buffer.from(long)),
  served(final | close, Buffer.from([0x03, 0xe8])),
]);

describe('FrameReader', () => {
  it.each([1, 2, 3, 7, 1000, 16_384, conversation.length])(
    'reads a conversation that comes in pieces of %i bytes',
    (pieces) => {
      expect(readAll(conversation, pieces)).toEqual({
        messages: ['\u0001hello', '', 'fragments', 'y'.repeat(200), long],
        controls: [
          [ping, 'still there?'],
          [pong, ''],
          [close, '\u0003\u00e8'],
        ],
      });
    },
  );

  it('passes a long message on as it arrives, without keeping it', () => {
    const { read, frames } = reader();
    const bytes = served(final | binary, Buffer.from(long));
    frames.push(bytes.subarray(0, 40_000));
    expect(read.messages[0]?.length).toBe(40_000 - 10);
  });

  it.each([
    ['a masked frame', Buffer.from([0x82, 0x80, 1, 2, 3, 4])],
    ['a bit of an extension', Buffer.from([0xc2, 0x00])],
    ['a text message', served(final | text, Buffer.from('no'))],
    ['a kind that does not exist', served(final | 3, Buffer.alloc(0))],
    ['a control frame that does not exist', served(final | 11, Buffer.alloc(0))],
    ['a control frame in fragments', served(ping, Buffer.alloc(0))],
    ['a control frame of 126 bytes', served(final | ping, Buffer.alloc(126))],
    ['the rest of nothing', served(final | continuation, Buffer.alloc(1))],
    [
      'a message within another',
      Buffer.concat([served(binary, Buffer.from('a')), served(final | binary, Buffer.from('b'))]),
    ],
    ['a length above 2^53', Buffer.from('827fffffffffffffffff', 'hex')],
  ])('refuses %s', (_what, bytes) => {
    expect(() => readAll(bytes, 1)).toThrow(expect.objectContaining({ code: 'exec-protocol' }));
  });
});
