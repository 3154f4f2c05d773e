import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FloatingAddress } from '../../rig/addresses/floating-address.ts';
import { LiveSession } from '../../rig/login-node/live-session.ts';

const example = new URL('../../../etc/keepalived/keepalived.conf', import.meta.url).pathname;

describe('two balancers and an address of keepalived', () => {
  let site: FloatingAddress;

  beforeAll(async () => {
    const text = await readFile(example, 'utf8');
    site = await FloatingAddress.start(() => text);
  });
  afterAll(() => site.stop());

  it('one of them has the address, and connections to it reach the login node', async () => {
    expect(await site.owners()).toHaveLength(1);
    expect((await site.ssh('ada', ['hostname'])).stdout.toString()).toBe('login1\n');
  });

  it('the address moves when haproxy ends, and back only when its new host fails', async () => {
    const [first = ''] = await site.owners();
    await site.endHaproxy(first);
    const [second = ''] = await site.waitForOwnerOtherThan(first);
    expect((await site.ssh('ada', ['true'])).stderr).toBe('');
    const session = await LiveSession.startReady(site, 'ada', 'cat');
    await site.startHaproxy(first);
    session.client.stdin?.write('still here\n');
    await session.waitForOutput('still here');
    expect(await site.owners()).toEqual([second]);
    await session.kill();
  });

  it('the address moves within seconds when its host loses power', async () => {
    const [first = ''] = await site.owners();
    const since = performance.now();
    await site.powerOff(first);
    await site.waitForOwnerOtherThan(first);
    expect((await site.ssh('ada', ['true'])).stderr).toBe('');
    expect(performance.now() - since).toBeLessThan(10_000);
  });
});
