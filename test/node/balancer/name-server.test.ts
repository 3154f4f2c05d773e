import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NameServer } from '../../rig/addresses/name-server.ts';
import { TestNetwork } from '../../rig/balancer/test-network.ts';

describe.each(['knot', 'bind'] as const)('the example for %s', (software) => {
  let directory: string;
  let network: TestNetwork;
  let server: NameServer;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'berth-name-server-'));
    network = await TestNetwork.make([53]);
    server = await NameServer.start(network.path, directory, software);
  });
  afterEach(async () => {
    await server.stop();
    await network.remove();
    await rm(directory, { recursive: true });
  });

  it('lets the key change the records of the name that users type, and nothing else', async () => {
    const { secret } = server;
    const update = (line: string): Promise<string> => server.update(line, secret);
    expect(await update('update add login.example.org 60 A 192.0.2.100')).toBe('');
    expect(await update('update add external-dns-a-login.example.org 60 TXT mine')).toBe('');
    expect(await update('update add www.example.org 60 A 192.0.2.66')).toContain('update failed');
    expect(await update('update delete ns1.example.org A')).toContain('update failed');
    expect(await update('update add login.example.org 60 MX 0 evil')).toContain('update failed');
    expect(await server.query('login.example.org', 'A')).toEqual(['192.0.2.100']);
    expect(await server.query('ns1.example.org', 'A')).toEqual(['192.0.2.53']);
  });

  it('lets nobody change or list the zone without the key', async () => {
    const wrong = Buffer.alloc(32, 'x').toString('base64');
    const forged = await server.update('update add login.example.org 60 A 192.0.2.66', wrong);
    expect(forged).toContain('BADSIG');
    expect(await server.query('login.example.org', 'A')).toEqual([]);
    expect((await server.query('example.org', 'AXFR')).join()).toContain('Transfer failed');
    expect((await server.zone()).join()).toContain('ns1.example.org');
  });
});
