import { describe, expect, it } from 'vitest';
import {
  encodeFrame,
  MultiplexFrameReader,
  frameKinds,
} from '../../../../../src/sessions/forwarding/protocol/frames.ts';
import { windowSize } from '../../../../../src/sessions/forwarding/protocol/limits.ts';

/** Frames as they come, pieces of data joined. */
function readIn(bytes: Buffer, pieceSize: number): string[] {
  const read: string[] = [];
  let last = '';
  const reader = new MultiplexFrameReader(({ kind, connection, payload }) => {
    const head = `${kind} ${connection} `;
    const goesOn = kind === frameKinds.data && head === last;
    last = head;
    read.push((goesOn ? (read.pop() ?? '') : head) + payload.toString('latin1'));
  });
  for (let at = 0; at < bytes.length; at += pieceSize)
    reader.push(Buffer.from(bytes.subarray(at, at + pieceSize)));
  return read;
}

describe('frames of the multiplexer', () => {
  const stream = Buffer.concat([
    encodeFrame(frameKinds.open, 2, Buffer.from('tcp:80')),
    encodeFrame(frameKinds.end, 0xffff_fffe),
    encodeFrame(frameKinds.data, 3, Buffer.alloc(40, 'x')),
  ]);
  const frames = ['0 2 tcp:80', '2 4294967294 ', `1 3 ${'x'.repeat(40)}`];

  it.each([1, 2, 8, 9, 10, 17, 1000])(
    'are complete if they arrive in pieces of %i bytes',
    (pieceSize) => {
      expect(readIn(stream, pieceSize)).toEqual(frames);
    },
  );

  it('waits for the rest of one that is cut', () => {
    const cut = stream.subarray(0, 12);
    expect(readIn(cut, 1000)).toEqual([]);
  });

  it('passes data on before it is complete', () => {
    expect(readIn(stream.subarray(0, -30), 1000).at(-1)).toBe(`1 3 ${'x'.repeat(10)}`);
  });

  const head = (kind: number, size: number): Buffer => {
    const bytes = encodeFrame(kind, 1);
    bytes.writeUInt32BE(size, 5);
    return bytes;
  };
  it.each<[string, Buffer]>([
    ['text', Buffer.from('Traceback (most recent')],
    ['an unknown kind', head(6, 0)],
    ['the kind 255', head(255, 1)],
    ['an open without a target', head(frameKinds.open, 0)],
    ['a target of 10 MB', head(frameKinds.open, 10_000_000)],
    ['empty data', head(frameKinds.data, 0)],
    ['data of 4 GiB', head(frameKinds.data, 0xffff_ffff)],
    ['data beyond the largest window', head(frameKinds.data, windowSize + 1)],
    ['an end with bytes', head(frameKinds.end, 1)],
    ['a close with bytes', head(frameKinds.close, 1)],
    ['a window of three bytes', head(frameKinds.window, 3)],
    ['a window of five bytes', head(frameKinds.window, 5)],
    ['an empty word', head(frameKinds.word, 0)],
    ['a word of 10 MB', head(frameKinds.word, 10_000_000)],
  ])('refuses %s by its head, before anything is held of it', (_what, bytes) => {
    expect(() => readIn(bytes, 1)).toThrow(
      expect.objectContaining({ code: 'forwarding-protocol' }),
    );
  });
});
