import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  loopbackListeners,
  userListeners,
} from '../../../../src/sessions/forwarding/sshd-listeners.ts';
import { isOtherEnd } from '../../../../src/sessions/forwarding/peer-uids.ts';
import { tcpSocket } from '../../../../src/system/tcp-table.ts';

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
const sockets = text.split('\n').flatMap((line) => tcpSocket(line) ?? []);

describe('sockets in /proc/net/tcp', () => {
  it('are read from both files, without incomplete lines', () => {
    expect(sockets.map(({ inode }) => inode)).toEqual(
      '6634173 11 12 13 14 15 0 16 17 18'.split(' '),
    );
    expect(sockets[0]).toMatchObject({ local: { port: 28080 }, state: 10, uid: 1009 });
  });

  it("of the user on loopback may be sshd's, except displays", () => {
    const directory = mkdtempSync(join(tmpdir(), 'sockets-'));
    const tables = text.split(/^(?=  sl)/m).map((table, index) => {
      const path = join(directory, String(index));
      writeFileSync(path, table);
      return path;
    });
    const listeners = loopbackListeners(tables);
    rmSync(directory, { recursive: true });
    expect(userListeners(listeners, 1009).map(({ local }) => local.port)).toEqual([28080, 28081]);
  });

  const end = (address: string, port: number) => ({ address, port });
  type End = ReturnType<typeof end>;
  const peerUid = (here: End, there: End): number | undefined =>
    sockets.find((socket) => isOtherEnd(socket, here, there))?.uid;
  const loopback = end('127.0.0.1', 28080);
  it('tell whose the other end of a connection is', () => {
    expect(peerUid(loopback, end('127.0.0.1', 0xd554))).toBe(1010);
    expect(peerUid(end('::1', 28081), end('::1', 0xd556))).toBe(1011);
    expect(peerUid(loopback, end('127.0.0.1', 0xd557))).toBe(1012);
  });

  it('are unknown, and not let through, if the other end does not exist', () => {
    expect(peerUid(loopback, end('127.0.0.1', 0xd555))).toBe(0);
    expect(peerUid(loopback, end('127.0.0.2', 0xd554))).toBeUndefined();
    expect(peerUid(end('127.0.0.1', 28081), end('127.0.0.1', 0xd554))).toBe(undefined);
    expect(peerUid(loopback, end('fe80::1', 0xd554))).toBeUndefined();
  });
});
