import { beforeEach, describe, expect, it } from 'vitest';
import {
  Connections,
  type Connection,
  type ConnectionSink,
} from '../../../src/session/bridge/connections.ts';
import {
  bridgeFrame,
  BridgeReader,
  kinds,
  longestFrame,
  number32,
  windowSize,
} from '../../../src/session/bridge/frames.ts';

describe('connections of the bridge', () => {
  let said: string[];
  let heard: string[];
  let helpers: Connection[];
  let bridge: Connections;
  const names = Object.keys(kinds);
  const sinkOf = (name: string): ConnectionSink => ({
    data: (bytes) => heard.push(`${name} data ${bytes.toString()}`),
    end: () => heard.push(`${name} end`),
    closed: () => heard.push(`${name} closed`),
    room: () => heard.push(`${name} room`),
  });
  const comes = (kind: number, id: number, payload?: Buffer) =>
    bridge.push(bridgeFrame(kind, id, payload));
  const opened = (): Connection => {
    let made: Connection | undefined;
    bridge.open('tcp:80', (connection) => {
      made = connection;
      return sinkOf('ours');
    });
    if (made === undefined) throw new Error('not opened');
    return made;
  };
  beforeEach(() => {
    [said, heard, helpers] = [[], [], []];
    const reader = new BridgeReader(({ kind, connection, payload }) => {
      said.push(`${names[kind] ?? ''} ${connection} ${payload.toString('latin1')}`.trim());
    });
    bridge = new Connections((bytes) => reader.push(bytes), {
      opened: (target, connection) => {
        if (target !== 'agent') return undefined;
        helpers.push(connection);
        return sinkOf(target);
      },
      word: (value) => heard.push(`word ${JSON.stringify(value)}`),
    });
  });

  it('carries both directions, each to its end', () => {
    const ours = opened();
    ours.send(Buffer.from('hello'));
    comes(kinds.data, 2, Buffer.from('hi'));
    comes(kinds.end, 2);
    ours.send(Buffer.from('!'));
    ours.end();
    comes(kinds.data, 2, Buffer.from('too late'));
    expect(said).toEqual(['open 2 tcp:80', 'data 2 hello', 'data 2 !', 'end 2']);
    expect(heard).toEqual(['ours data hi', 'ours end']);
  });

  it('tells when the window is full, and when there is room again', () => {
    const ours = opened();
    expect(ours.send(Buffer.alloc(windowSize - 1))).toBe(true);
    expect(ours.send(Buffer.alloc(10))).toBe(false);
    comes(kinds.window, 2, number32(9));
    expect(heard).toEqual([]);
    comes(kinds.window, 2, number32(1));
    expect(heard).toEqual(['ours room']);
  });

  it('gives room to the other half for what was taken, and not beyond its end', () => {
    const ours = opened();
    ours.taken(7);
    comes(kinds.end, 2);
    ours.taken(5);
    expect(said.slice(1)).toEqual([`window 2 ${number32(7).toString('latin1')}`]);
  });

  it('takes no more than the window from a helper that does not keep to it', () => {
    const ours = opened();
    const piece = Buffer.alloc(windowSize);
    const most = 1 + longestFrame / windowSize;
    for (let count = 0; count < most; count += 1) comes(kinds.data, 2, piece);
    expect(() => comes(kinds.data, 2, Buffer.alloc(1))).toThrow(RangeError);
    ours.taken(windowSize);
    expect(() => comes(kinds.data, 2, Buffer.alloc(1))).not.toThrow();
  });

  it("opens what the helper may have, by the helper's numbers, and closes anything else", () => {
    comes(kinds.open, 1, Buffer.from('agent'));
    comes(kinds.open, 3, Buffer.from('tcp:22'));
    comes(kinds.data, 1, Buffer.from('a'));
    comes(kinds.data, 3, Buffer.from('b'));
    helpers[0]?.send(Buffer.from('c'));
    expect(said).toEqual(['close 3', 'data 1 c']);
    expect(heard).toEqual(['agent data a']);
  });

  it('closes all when the stream is gone, each once', () => {
    const ours = opened();
    opened().close();
    comes(kinds.open, 1, Buffer.from('agent'));
    comes(kinds.close, 1);
    bridge.closeAll();
    ours.close();
    expect(heard).toEqual(['agent closed', 'ours closed']);
  });

  it('hands on words', () => {
    bridge.say({ flush: true });
    comes(kinds.word, 0, Buffer.from('{"flushed":true}'));
    expect(said).toEqual(['word 0 {"flush":true}']);
    expect(heard).toEqual(['word {"flushed":true}']);
  });
});
