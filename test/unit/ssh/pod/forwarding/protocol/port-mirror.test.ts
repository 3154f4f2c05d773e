import { describe, expect, it } from 'vitest';
import {
  isForwardedPort,
  userListeners,
  endpointName,
  endpointChanges,
  parsePortRanges,
  parseEndpoints,
} from '../../../../../../src/ssh/pod/forwarding/protocol/forwardable-endpoints.ts';
import {
  tcpSockets,
  peerUid,
} from '../../../../../../src/ssh/pod/forwarding/protocol/proc-net-tcp.ts';

const tail = '00000000:00000000 00:00000000 00000000';
const text = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:6DB0 00000000:0000 0A ${tail}  1009        0 6634173 1 0000000066c449cf 100 0 0 10 0
   1: 00000000:1F90 00000000:0000 0A ${tail}  1010        0 11 1 0000000066c449cf 100 0 0 10 0
   2: 0201A8C0:1F91 00000000:0000 0A ${tail}  1009        0 12 1 0000000066c449cf 100 0 0 10 0
   3: 0100007F:177A 00000000:0000 0A ${tail}  1009        0 13 1 0000000066c449cf 100 0 0 10 0
   4: 0100007F:D554 0100007F:6DB0 01 ${tail}  1010        0 14 1 00000000cc98e66b 20 4 0 10 -1
   5: 0100007F:6DB0 0100007F:D554 01 ${tail}  1009        0 15 1 00000000cc98e66b 20 4 0 10 -1
   6: 0100007F:D555 0100007F:6DB0 06 00000000:00000000 03:00001626 00000000     0        0 0 3 00000000cc98e66b
  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000001000000:6DB1 00000000000000000000000000000000:0000 0A ${tail}  1009        0 16 1 00000000a544a2e0 100 0 0 10 0
   1: 00000000000000000000000001000000:D556 00000000000000000000000001000000:6DB1 01 ${tail}  1011        0 17 1 00000000a544a2e0 100 0 0 10 0
   2: 0000000000000000FFFF00000100007F:D557 0000000000000000FFFF00000100007F:6DB0 01 ${tail}  1012        0 18 1 00000000a544a2e0 100 0 0 10 0
   3: 00000000000000000`;
const sockets = tcpSockets(text);

describe('sockets in /proc/net/tcp', () => {
  it('are read from both files, without incomplete lines', () => {
    expect(sockets.map(({ inode }) => inode)).toEqual(
      '6634173 11 12 13 14 15 0 16 17 18'.split(' '),
    );
    expect(sockets[0]).toMatchObject({ local: { port: 28080 }, state: 10, uid: 1009 });
  });

  it("of the user on loopback may be sshd's, except displays", () => {
    expect(userListeners(sockets, 1009).map(({ local }) => local.port)).toEqual([28080, 28081]);
  });

  const end = (address: string, port: number) => ({ address, port });
  const loopback = end('127.0.0.1', 28080);
  it('tell whose the other end of a connection is', () => {
    expect(peerUid(sockets, loopback, end('127.0.0.1', 0xd554))).toBe(1010);
    expect(peerUid(sockets, end('::1', 28081), end('::1', 0xd556))).toBe(1011);
    expect(peerUid(sockets, loopback, end('127.0.0.1', 0xd557))).toBe(1012);
  });

  it('are unknown, and not let through, if the other end does not exist', () => {
    expect(peerUid(sockets, loopback, end('127.0.0.1', 0xd555))).toBe(0);
    expect(peerUid(sockets, loopback, end('127.0.0.2', 0xd554))).toBeUndefined();
    expect(peerUid(sockets, end('127.0.0.1', 28081), end('127.0.0.1', 0xd554))).toBe(undefined);
    expect(peerUid(sockets, loopback, end('fe80::1', 0xd554))).toBeUndefined();
  });
});

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
