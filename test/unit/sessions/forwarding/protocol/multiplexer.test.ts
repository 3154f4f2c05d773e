import { beforeEach, describe, expect, it } from 'vitest';
import type {
  ForwardedConnection,
  ConnectionSink,
} from '../../../../../src/sessions/forwarding/protocol/multiplexed-connection.ts';
import { Multiplexer } from '../../../../../src/sessions/forwarding/protocol/multiplexer.ts';
import {
  encodeFrame,
  MultiplexFrameReader,
  frameKinds,
  uint32,
} from '../../../../../src/sessions/forwarding/protocol/frames.ts';
import {
  initialWindow,
  maxConnections,
  sharedWindow,
  windowSize,
} from '../../../../../src/sessions/forwarding/protocol/limits.ts';

const refused = expect.objectContaining({ code: 'forwarding-protocol' }) as Error;

describe('forwarded connections', () => {
  let said: string[];
  let heard: string[];
  let helpers: ForwardedConnection[];
  let bridge: Multiplexer;
  /** Whether what is sent finds room. */
  let room: boolean;
  const names = Object.keys(frameKinds);
  const sinkOf = (name: string): ConnectionSink => ({
    data: (bytes) => heard.push(`${name} data ${bytes.toString()}`),
    end: () => heard.push(`${name} end`),
    closed: () => heard.push(`${name} closed`),
    full: () => heard.push(`${name} full`),
    room: () => heard.push(`${name} room`),
  });
  const comes = (kind: number, id: number, payload?: Buffer) =>
    bridge.push(encodeFrame(kind, id, payload));
  const opened = (): ForwardedConnection => {
    let made: ForwardedConnection | undefined;
    bridge.open('tcp:80', (connection) => {
      made = connection;
      return sinkOf('ours');
    });
    // What it may send at first.
    said = said.filter((each) => !each.startsWith('window'));
    if (made === undefined) throw new Error('not opened');
    return made;
  };
  beforeEach(() => {
    [said, heard, helpers, room] = [[], [], [], true];
    const reader = new MultiplexFrameReader(({ kind, connection, payload }) => {
      said.push(`${names[kind] ?? ''} ${connection} ${payload.toString('latin1')}`.trim());
    });
    const send = (bytes: Buffer): boolean => {
      reader.push(bytes);
      return room;
    };
    bridge = new Multiplexer(send, {
      opened: (target, connection) => {
        if (target !== 'agent') return undefined;
        helpers.push(connection);
        return sinkOf(target);
      },
      word: (value) => heard.push(`word ${Object.keys(value).join()}`),
    });
  });

  it('carries both directions until each has ended', () => {
    const ours = opened();
    ours.send(Buffer.from('hello'));
    comes(frameKinds.data, 2, Buffer.from('hi'));
    comes(frameKinds.end, 2);
    ours.send(Buffer.from('!'));
    ours.end();
    comes(frameKinds.data, 2, Buffer.from('too late'));
    expect(said).toEqual(['open 2 tcp:80', 'data 2 hello', 'data 2 !', 'end 2']);
    expect(heard).toEqual(['ours data hi', 'ours end']);
  });

  it('tells when the window is full, and when there is room again', () => {
    const ours = opened();
    ours.send(Buffer.alloc(windowSize - 1));
    expect(heard).toEqual([]);
    ours.send(Buffer.alloc(10));
    comes(frameKinds.window, 2, uint32(9));
    expect(heard).toEqual(['ours full']);
    comes(frameKinds.window, 2, uint32(1));
    expect(heard).toEqual(['ours full', 'ours room']);
  });

  it('tells all when the stream is full, and when there is room again', () => {
    const ours = opened();
    comes(frameKinds.open, 1, Buffer.from('agent'));
    room = false;
    ours.send(Buffer.from('a'));
    expect(heard).toEqual(['ours full', 'agent full']);
    room = true;
    bridge.drained();
    expect(heard.slice(2)).toEqual(['ours room', 'agent room']);
  });

  it('acknowledges what was taken in larger steps, and not after the end', () => {
    const ours = opened();
    comes(frameKinds.data, 2, Buffer.alloc(windowSize / 2));
    ours.taken(windowSize / 4 - 1);
    expect(said).toEqual(['open 2 tcp:80']);
    ours.taken(1);
    expect(said.slice(1)).toEqual([`window 2 ${uint32(windowSize / 4).toString('latin1')}`]);
    comes(frameKinds.end, 2);
    ours.taken(windowSize / 4);
    expect(said).toHaveLength(2);
  });

  it('gives each connection a small window, and the first ones a large one until they end', () => {
    const many = Array.from({ length: maxConnections }, () => opened());
    const wide = Math.floor(sharedWindow / (windowSize - initialWindow));
    const takes = (id: number, size: number) => comes(frameKinds.data, id, Buffer.alloc(size));
    takes(2 * wide, windowSize);
    takes(2 * wide + 2, initialWindow);
    // What waits of one that is over still has its place.
    comes(frameKinds.close, 2 * wide);
    expect(bridge.open('tcp:80', () => sinkOf('more'))).toBe(false);
    many[wide - 1]?.taken(windowSize);
    expect(bridge.open('tcp:80', () => sinkOf('more'))).toBe(true);
    takes(2 * maxConnections + 2, windowSize);
    expect(() => takes(2 * wide + 2, 1)).toThrow(refused);
  });

  it('opens connections for the helper with its own numbers, and refuses other targets', () => {
    comes(frameKinds.open, 1, Buffer.from('agent'));
    comes(frameKinds.open, 3, Buffer.from('tcp:22'));
    comes(frameKinds.data, 1, Buffer.from('a'));
    comes(frameKinds.data, 3, Buffer.from('b'));
    helpers[0]?.send(Buffer.from('c'));
    expect(said.filter((each) => !each.startsWith('window'))).toEqual(['close 3', 'data 1 c']);
    expect(heard).toEqual(['agent data a']);
  });

  it('closes each connection once when the stream has ended', () => {
    const ours = opened();
    opened().close();
    comes(frameKinds.open, 1, Buffer.from('agent'));
    comes(frameKinds.close, 1);
    bridge.closeAll();
    ours.close();
    expect(heard).toEqual(['agent closed', 'ours closed']);
  });

  it('passes control messages on', () => {
    bridge.say({ flush: true });
    comes(frameKinds.word, 0, Buffer.from('{"flushed":true}'));
    expect(said).toEqual(['word 0 {"flush":true}']);
    expect(heard).toEqual(['word flushed']);
  });

  describe('what no honest other half says', () => {
    type Said = readonly [kind: number, id: number, payload?: Buffer | string];
    const agent: Said = [frameKinds.open, 1, 'agent'];
    const window = (id: number, count: number): Said => [frameKinds.window, id, uint32(count)];
    const word = (text: string | Buffer): Said => [frameKinds.word, 0, text];
    const says = ([kind, id, payload]: Said): void =>
      comes(kind, id, payload === undefined ? undefined : Buffer.from(payload));
    const deep = (lists: number): string => '['.repeat(lists) + ']'.repeat(lists);

    it.each<[string, ...Said[]]>([
      ['a window that nobody asked for', agent, window(1, 1)],
      ['a window of 4 GiB', window(2, 0xffff_ffff)],
      ['a window one byte too large', window(2, 10)],
      ['a window twice', window(2, 9), window(2, 1)],
      ['an empty window', window(2, 0)],
      ['a window for a connection to come', window(4, 1)],
      ['data for a connection to come', [frameKinds.data, 3, 'x']],
      ['an end for a connection to come', [frameKinds.end, 4]],
      ['the end of nothing', [frameKinds.close, 0]],
      [
        'data beyond its window',
        agent,
        [frameKinds.data, 1, Buffer.alloc(windowSize)],
        [frameKinds.data, 1, 'x'],
      ],
      ['data after its end', agent, [frameKinds.end, 1], [frameKinds.data, 1, 'x']],
      ['a second end', agent, [frameKinds.end, 1], [frameKinds.end, 1]],
      ['an id twice', agent, agent],
      ['the id of one that is over', agent, [frameKinds.close, 1], agent],
      ['an id of ours', [frameKinds.open, 2, 'agent']],
      ['the next id of ours', [frameKinds.open, 4, 'agent']],
      ['the id 0', [frameKinds.open, 0, 'agent']],
      ['ids downwards', [frameKinds.open, 5, 'agent'], [frameKinds.open, 3, 'agent']],
      ['ids after the last', [frameKinds.open, 0xffff_ffff, 'agent'], agent],
      ['a word of a connection', [frameKinds.word, 1, '{}']],
      ['half a word', word('{"listening":[')],
      ['a word that is no UTF-8', word(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]))],
      ['a number', word('42')],
      ['null', word('null')],
      ['a list', word('[]')],
      ['lists in lists', word(deep(30_000))],
      ['a million lists', word(`{"a":${deep(500_000)}}`)],
    ])('%s ends forwarding', (_what, ...all) => {
      opened().send(Buffer.alloc(9));
      const last = all.pop();
      for (const each of all) says(each);
      expect(() => {
        if (last !== undefined) says(last);
      }).toThrow(refused);
    });

    it('of one that is over, what may have been on its way is nothing', () => {
      opened().close();
      says(agent);
      helpers[0]?.close();
      for (const id of [1, 2]) {
        comes(frameKinds.data, id, Buffer.from('x'));
        comes(frameKinds.window, id, uint32(5));
        comes(frameKinds.end, id);
        comes(frameKinds.close, id);
      }
      expect(heard).toEqual([]);
    });

    it('more connections than there may be are closed, and those that stand go on', () => {
      for (let id = 1; id <= 4 * maxConnections; id += 2)
        comes(frameKinds.open, id, Buffer.from('agent'));
      expect(helpers).toHaveLength(maxConnections);
      expect(said.filter((each) => each.startsWith('close'))).toHaveLength(maxConnections);
      comes(frameKinds.close, 1);
      comes(frameKinds.open, 4 * maxConnections + 1, Buffer.from('agent'));
      expect(helpers).toHaveLength(maxConnections + 1);
    });

    it('lists in lists inside of a word are read, as far as a word goes', () => {
      says(word(`{"a":${deep(30_000)}}`));
      expect(heard).toEqual(['word a']);
    });
  });
});
