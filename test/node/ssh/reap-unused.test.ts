import { afterAll, beforeAll, expect, it } from 'vitest';
import { installDirectory } from '../../rig/site/portal.ts';
import { runAsRoot } from '../../rig/login-node/refused-login.ts';
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

const reap = (...options: string[]) =>
  host.asRoot([`${installDirectory}/berth`, 'reap', ...options]);

it('`berth reap --unused` ends a container in its grace, but not one that is used', async () => {
  const printed = async (...options: string[]): Promise<string> =>
    (await reap(...options)).stdout.toString();
  const session = await LiveSession.startReady(host, 'ada', 'cat');
  expect(await printed('--unused')).not.toContain('ada');
  await session.kill();
  const { uid } = host.account('ada');
  const idle = `/run/berth/idle/${uid}`;
  await expect.poll(() => host.asRoot(['test', '-e', idle])).toMatchObject({ exitCode: 0 });

  expect(await printed()).not.toContain('container');
  expect(await printed('--unused', '--dry-run')).toMatch(/^would end container \S+ of ada$/m);
  expect((await findLeftovers(host, 'ada')).containers).toHaveLength(1);
  expect(await printed('--unused')).toMatch(/^ended container \S+ of ada$/m);
  await expect.poll(() => findLeftovers(host, 'ada')).toEqual(noLeftovers);
});

/** Where no other login creates a runtime directory, so that nothing else would end the container. */
it.each([
  ['after a reboot', (user: string) => `pkill -KILL -u ${user}; sleep 0.1; `],
  ['after a loss of /run, while the container runs', () => ''],
])('%s, `berth reap --unused` ends it too', async (_when, before) => {
  const { uid } = host.account('ada');
  const session = await LiveSession.startReady(host, 'ada', 'cat');
  await session.kill();
  const idle = `/run/berth/idle/${uid}`;
  await expect.poll(() => host.asRoot(['test', '-e', idle])).toMatchObject({ exitCode: 0 });
  const unmount = 'umount -l /run/berth/users/* 2>/dev/null || true; ';
  await runAsRoot(host, `${before('ada')}${unmount}rm -rf /run/user/${uid} /run/berth`);
  expect((await findLeftovers(host, 'ada')).containers).toHaveLength(1);
  const { exitCode, stdout, stderr } = await reap('--unused');
  expect(exitCode, stderr).toBe(0);
  expect(stdout.toString()).toMatch(/^ended container \S+ of ada$/m);
  expect(await findLeftovers(host, 'ada')).toEqual(noLeftovers);
  // What was mounted for it, and what keeps a package from being removed.
  expect(await runAsRoot(host, 'ls -A /run/berth/users /run/berth/idle')).toBe(
    '/run/berth/idle:\n\n/run/berth/users:\n',
  );
  expect((await host.ssh('ada', ['echo in'])).stdout.toString()).toBe('in\n');
  await reap('--unused');
});
