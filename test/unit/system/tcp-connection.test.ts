import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { holdsConnection, tcpConnectionsOf } from '../../../src/system/tcp-connection.ts';
import { endpointText, linesWithin } from '../../../src/system/tcp-table.ts';

describe('a list of the kernel with 400,000 lines', () => {
  const line = `${' 1: 0100007F:0016 0100007F:9C40 01 00000000:00000000'.padEnd(149)}\n`;
  const count = 400_000;
  let directory: string;
  let list: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'sockets-'));
    list = join(directory, 'tcp');
    writeFileSync(list, line.repeat(count));
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  it('is read to its end if the budget allows it', () => {
    const budget = { left: line.length * count, exceeded: false };
    expect([...linesWithin(list, budget)]).toHaveLength(count);
    expect(budget).toStrictEqual({ left: 0, exceeded: false });
  });

  it('is read no further than the budget, in complete lines', () => {
    const budget = { left: line.length * 1000 + 7, exceeded: false };
    const lines = [...linesWithin(list, budget)];
    expect(lines).toHaveLength(1000);
    expect(new Set(lines)).toStrictEqual(new Set([line.slice(0, -1)]));
    expect(budget).toStrictEqual({ left: 0, exceeded: true });
  });

  it('is read no further than the caller wants', () => {
    const budget = { left: line.length * count, exceeded: false };
    for (const one of linesWithin(list, budget)) {
      expect(one).toBe(line.slice(0, -1));
      break;
    }
    expect(budget).toStrictEqual({ left: line.length * count - 64 * 1024, exceeded: false });
  });

  it('has no lines if it does not exist', () => {
    expect([...linesWithin(join(directory, 'none'), { left: 1, exceeded: false })]).toStrictEqual(
      [],
    );
  });
});

describe('the TCP connection of a process', () => {
  const most = 64 * 1024 * 1024;
  const sockets: Socket[] = [];
  const server = createServer((socket) => void sockets.push(socket));
  let port: number;
  beforeEach(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
  });
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    server.close();
    await once(server, 'close');
  });

  async function opened(count: number): Promise<readonly Socket[]> {
    const clients = Array.from({ length: count }, () => connect(port, '127.0.0.1'));
    sockets.push(...clients);
    await Promise.all(clients.map((client) => once(client, 'connect')));
    return clients;
  }

  it('is the first one that it opened', async () => {
    const [first] = await opened(3);
    const found = tcpConnectionsOf([process.pid], { mostBytes: most }).connections.get(process.pid);
    expect(found === undefined ? '' : endpointText(found.local)).toBe(
      `127.0.0.1:${first?.localPort ?? 0}`,
    );
  });

  it.each([
    ['127.0.0.1', '127.0.0.1'],
    ['::1', '::1'],
    // A dual-stack socket, as sshd has them.
    ['::', '127.0.0.1'],
  ])('is confirmed by the kernel: listening on %s, from %s', async (listening, address) => {
    const other = createServer((socket) => void sockets.push(socket)).listen(0, listening);
    await once(other, 'listening');
    const { port: local } = other.address() as AddressInfo;
    const client = connect(local, address);
    sockets.push(client);
    await Promise.all([once(client, 'connect'), once(other, 'connection')]);
    const ends = {
      local: { address, port: local },
      peer: { address, port: client.localPort ?? 0 },
    };
    expect(holdsConnection(process.pid, ends)).toBe(true);
    expect(holdsConnection(process.ppid, ends)).toBe(false);
    expect(holdsConnection(process.pid, { ...ends, peer: { address, port: 1 } })).toBe(false);
    other.close();
  });

  it('is not known if there are too many to read', async () => {
    await opened(100);
    expect(tcpConnectionsOf([process.pid], { mostBytes: 4096 }).complete).toBe(false);
  });
});
