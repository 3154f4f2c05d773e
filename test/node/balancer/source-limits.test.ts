import { createConnection } from 'node:net';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { NodesBehindBalancer } from '../../rig/balancer/nodes-behind-balancer.ts';
import { LiveSession } from '../../rig/login-node/live-session.ts';

let site: NodesBehindBalancer;

beforeAll(async () => {
  site = await NodesBehindBalancer.start(
    {
      ...{ nodes: 1, together: true },
      sourceLimits: { connections: 3, rate: 20, exempt: ['127.0.0.9'] },
    },
    { mode: 'plain', images: false, users: { ada: [] } },
  );
});
afterAll(() => site.stop());

it('a source has no more connections than it may, others have theirs, and the log says why', async () => {
  const sessions: LiveSession[] = [];
  for (let number = 0; number < 3; number += 1) {
    const session = LiveSession.start(site.front, 'ada', ['echo "in now"; cat']);
    await session.waitForOutput('in now');
    sessions.push(session);
  }
  expect((await site.front.ssh('ada', ['true'])).exitCode).toBe(255);
  for (const other of ['127.0.0.8', '127.0.0.9'])
    expect((await site.front.ssh('ada', ['-b', other, 'true'])).exitCode).toBe(0);
  await expect
    .poll(() => site.front.host.log())
    .toMatch(/client=127\.0\.0\.1 .* node=<NOSRV> .* state=PR .* refused=connections$/m);
  await sessions.pop()?.kill();
  await expect.poll(async () => (await site.front.ssh('ada', ['true'])).exitCode).toBe(0);
  for (const session of sessions) await session.kill();
});

it('a source that opens connections fast is refused for a while, and no exempt one', async () => {
  const greetings = async (localAddress: string, attempts = 30): Promise<number> => {
    let greeted = 0;
    for (let number = 0; number < attempts; number += 1) {
      const { address: host, port } = site.front;
      const socket = createConnection({ host, port, localAddress });
      const [first] = (await Promise.race([
        once(socket, 'data'),
        once(socket, 'close'),
      ])) as readonly unknown[];
      if (Buffer.isBuffer(first)) {
        greeted += 1;
        // Until haproxy has closed it, it counts as one of the connections of this source.
        socket.resume().end();
        await once(socket, 'close');
      }
      socket.destroy();
    }
    return greeted;
  };
  expect(await greetings('127.0.0.7')).toBeLessThanOrEqual(20);
  expect(await greetings('127.0.0.9')).toBe(30);
  await expect.poll(() => site.front.host.log()).toMatch(/client=127\.0\.0\.7 .* refused=rate$/m);
  await greetings('127.0.0.6', 100);
  const lines = async (client: string): Promise<number> =>
    (await site.front.host.log()).split('\n').filter((line) => line.includes(`client=${client} `))
      .length;
  // Its lines come in order: after the one of the next source, all have been written.
  expect(await greetings('127.0.0.5', 1)).toBe(1);
  await expect.poll(() => lines('127.0.0.5')).toBe(1);
  expect(await lines('127.0.0.6')).toBe(40);
});
