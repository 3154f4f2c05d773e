import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LiveSession } from '../../rig/login-node/live-session.ts';
import { NodesBehindBalancer } from '../../rig/balancer/nodes-behind-balancer.ts';

describe('login nodes behind a balancer', () => {
  let site: NodesBehindBalancer;

  beforeAll(async () => {
    site = await NodesBehindBalancer.start(
      { balancers: 2, ownNetwork: true, together: false },
      { mode: 'plain', users: { ada: [], bob: [] }, images: false },
    );
  });
  afterAll(() => site.stop());

  it('share homes and the host key, and the balancer spreads connections over them', async () => {
    const seen = new Set<string>();
    for (let number = 0; number < 3; number += 1) {
      const result = await site.front.ssh('ada', ['hostname | tee -a seen; cat seen | wc -l']);
      expect(result.stderr).toBe('');
      const [name = '', lines] = result.stdout.toString().split('\n');
      expect(Number(lines)).toBe(number + 1);
      seen.add(name);
    }
    expect([...seen].sort()).toEqual(['login1', 'login2', 'login3']);
  });

  it('keep their sessions when the balancer is reloaded, and new sessions go through the new worker', async () => {
    const session = await LiveSession.startReady(site.front, 'ada', 'cat');
    await site.front.host.reload();
    expect(await site.front.host.workers()).toBe(2);
    expect((await site.front.ssh('bob', ['true'])).stderr).toBe('');
    session.client.stdin?.write('still here\n');
    await session.waitForOutput('still here');
    await session.kill();
  });
});
