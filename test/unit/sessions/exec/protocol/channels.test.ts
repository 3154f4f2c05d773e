import { describe, expect, it } from 'vitest';
import {
  ChannelReader,
  resizeMessage,
} from '../../../../../src/sessions/exec/protocol/channels.ts';

function read(parts: readonly (readonly [string, boolean])[]): [number, string][] {
  const said: [number, string][] = [];
  const reader = new ChannelReader((channel, bytes) => said.push([channel, bytes.toString()]));
  for (const [bytes, first] of parts) reader.message(Buffer.from(bytes), first);
  return said;
}

describe('ChannelReader', () => {
  it('takes the first byte of each message for its channel', () => {
    expect(
      read([
        ['\u0001out', true],
        ['\u0002err', true],
      ]),
    ).toEqual([
      [1, 'out'],
      [2, 'err'],
    ]);
  });

  it('tells the rest of a message from the next one', () => {
    expect(
      read([
        ['\u0001a', true],
        ['\u0002b', false],
        ['\u0002c', true],
      ]),
    ).toEqual([
      [1, 'a'],
      [1, '\u0002b'],
      [2, 'c'],
    ]);
  });

  it('finds the channel if the first fragment is empty', () => {
    expect(
      read([
        ['', true],
        ['\u0002late', false],
      ]),
    ).toEqual([[2, 'late']]);
  });

  it('makes nothing of a message without bytes: so the API server says that it is there', () => {
    expect(
      read([
        ['\u0001', true],
        ['', true],
      ]),
    ).toEqual([]);
  });
});

it('the size of a terminal is what client-go sends', () => {
  expect(resizeMessage({ columns: 80, rows: 24 })?.toString()).toBe('{"Width":80,"Height":24}');
  expect(resizeMessage({ columns: 0, rows: 0 })).toBe(undefined);
});
