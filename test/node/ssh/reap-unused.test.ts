import { afterAll, beforeAll, expect, it } from 'vitest';
import { installDirectory } from '../../rig/site/portal.ts';
import { SshHost } from '../../rig/login-node/ssh-host.ts';
import { findLeftovers, noLeftovers } from '../../rig/login-node/leftovers.ts';
import { LiveSession } from '../../rig/login-node/live-session.ts';

let host: SshHost;
beforeAll(async () => {
  host = await SshHost.start({
    ...{ mode: 'forced', users: { ada: [] } },
    profiles: {
      base: {
        ...{ image: 'localhost/berth-site:1', pull: 'never', network: 'host' },
        ...{ lifetime: 'user', grace: '10m' },
      },
    },
  });
});
afterAll(() => host.stop());

it('`berth reap --unused` ends a container in its grace, but not one that is used', async () => {
  const reap = async (...options: string[]): Promise<string> => {
    const words = [`${installDirectory}/berth`, 'reap', ...options];
    return (await host.asRoot(words)).stdout.toString();
  };
  const session = await LiveSession.startReady(host, 'ada', 'cat');
  expect(await reap('--unused')).not.toContain('ada');
  await session.kill();
  const { uid } = host.account('ada');
  const idle = `/run/berth/idle/${uid}`;
  await expect.poll(() => host.asRoot(['test', '-e', idle])).toMatchObject({ exitCode: 0 });

  expect(await reap()).not.toContain('container');
  expect(await reap('--unused', '--dry-run')).toMatch(/^would end container \S+ of ada$/m);
  expect((await findLeftovers(host, 'ada')).containers).toHaveLength(1);
  expect(await reap('--unused')).toMatch(/^ended container \S+ of ada$/m);
  await expect.poll(() => findLeftovers(host, 'ada')).toEqual(noLeftovers);
});
