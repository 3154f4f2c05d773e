import { describe, expect, it } from 'vitest';
import {
  isForwardedPort,
  endpointName,
  endpointChanges,
  parsePortRanges,
  parseEndpoints,
} from '../../../../../src/sessions/forwarding/protocol/forwardable-endpoints.ts';

describe('ports that are bridged', () => {
  it("are neither root's nor displays", () => {
    const no = [22, 1023, 6010, 6099, 65_536, -1];
    expect(no.filter(isForwardedPort)).toEqual([]);
    expect([1024, 6000, 6009, 6100, 65_535].every(isForwardedPort)).toBe(true);
  });

  it('are the valid endpoints that the helper sends, up to the limit', () => {
    const said = ['tcp:8888', 'tcp:8888', 'tcp:80', 9, null, 'unix:/tmp/a.sock', 'unix:/etc/a'];
    expect(parseEndpoints([...said, 'unix:/tmp/../etc/a', 'unix:/tmp/a/b', 'tcp:1e4'])).toEqual([
      'tcp:8888',
      'unix:/tmp/a.sock',
    ]);
    expect(parseEndpoints({ 0: 'tcp:8888' })).toEqual([]);
    const many = Array.from({ length: 5000 }, (_, index) => `tcp:${10_000 + index}`);
    expect(parseEndpoints(many)).toHaveLength(64);
  });

  it.each([
    ['tcp:08888', 'tcp:8888.5', 'tcp:-8888', 'tcp:1e4', 'tcp: 8888', 'tcp:99999', 'tcp:8888\n'],
    [
      'unix:/tmp/',
      'unix:/tmp/.',
      'unix:/tmp/..',
      'unix:/tmp/../run/x',
      'unix:/tmp/a/b',
      'unix:/tmp/a\n',
    ],
    [
      'unix:/tmp/a\0b',
      'unix:/tmp/é',
      `unix:/tmp/${'a'.repeat(10_000_000)}`,
      `unix:/tmp/${'a'.repeat(65)}`,
    ],
    ['unix:/tmp/.X11-unix', 'unix:/tmp/krb5cc_0', 'unix:/tmp/ssh-x', 'unix:/run/user/0/bus'],
    [8888, null, ['tcp:8888'], { toString: 'tcp:8888' }, true],
  ])('are none of these', (...said) => {
    expect(parseEndpoints(said)).toEqual([]);
  });

  it('do not include those that the site reserves for its services', () => {
    const reserved = parsePortRanges('8080,9000-9010\n');
    const said = [8079, 8080, 8081, 8999, 9000, 9005, 9010, 9011].map((port) => `tcp:${port}`);
    expect(parseEndpoints(said, reserved)).toEqual([
      'tcp:8079',
      'tcp:8081',
      'tcp:8999',
      'tcp:9011',
    ]);
    expect(parsePortRanges('')).toEqual([]);
  });

  it('have names of sockets without a path', () => {
    expect(endpointName('unix:/tmp/jupyter-1.sock')).toBe('jupyter-1.sock');
    expect(endpointName('unix:/tmp/..')).toBeUndefined();
  });

  it('come and go', () => {
    expect(endpointChanges(['a', 'b'], ['b', 'c'])).toEqual({ added: ['c'], removed: ['a'] });
  });
});
