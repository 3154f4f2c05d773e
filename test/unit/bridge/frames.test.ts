import { describe, expect, it } from 'vitest';
import { bridgeFrame, BridgeReader, kinds } from '../../../src/session/bridge/frames.ts';

/** Frames as they come, pieces of data joined. */
function readIn(bytes: Buffer, pieceSize: number): string[] {
  const read: string[] = [];
  let last = '';
  const reader = new BridgeReader(({ kind, connection, payload }) => {
    const head = `${kind} ${connection} `;
    const goesOn = kind === kinds.data && head === last;
    last = head;
    read.push((goesOn ? (read.pop() ?? '') : head) + payload.toString('latin1'));
  });
  for (let at = 0; at < bytes.length; at += pieceSize)
    reader.push(Buffer.from(bytes.subarray(at, at + pieceSize)));
  return read;
}

describe("the bridge's frames", () => {
  const stream = Buffer.concat([
    bridgeFrame(kinds.open, 2, Buffer.from('tcp:80')),
    bridgeFrame(kinds.end, 0xffff_fffe),
    bridgeFrame(kinds.data, 3, Buffer.alloc(40, 'x')),
  ]);
  const frames = ['0 2 tcp:80', '2 4294967294 ', `1 3 ${'x'.repeat(40)}`];

  it.each([1, 2, 8, 9, 10, 17, 1000])('come whole from pieces of %i bytes', (pieceSize) => {
    expect(readIn(stream, pieceSize)).toEqual(frames);
  });

  it('waits for the rest of one that is cut', () => {
    const cut = stream.subarray(0, 12);
    expect(readIn(cut, 1000)).toEqual([]);
  });

  it('hands on data before all of it is there', () => {
    expect(readIn(stream.subarray(0, -30), 1000).at(-1)).toBe(`1 3 ${'x'.repeat(10)}`);
  });

  it('refuses what is no frame, and would be held in memory', () => {
    expect(() => readIn(Buffer.from('Traceback (most recent'), 1000)).toThrow(RangeError);
  });
});
