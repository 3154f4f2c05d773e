import { describe, expect, it } from 'vitest';
import { bridgeFrame, BridgeReader, kinds } from '../../../src/session/bridge/frames.ts';

function readIn(bytes: Buffer, pieceSize: number): string[] {
  const read: string[] = [];
  const reader = new BridgeReader(({ kind, connection, payload }) => {
    read.push(`${kind} ${connection} ${payload.toString('latin1')}`);
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
    expect(readIn(stream.subarray(0, -1), 1000)).toEqual(frames.slice(0, 2));
  });

  it('refuses what is no frame, and would be held in memory', () => {
    expect(() => readIn(Buffer.from('Traceback (most recent'), 1000)).toThrow(RangeError);
  });
});
