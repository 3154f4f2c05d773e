import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { berthDocument } from '../../rig/berth-document.ts';
import type { CheckResult } from '../../../src/system/errors/check-result.ts';
import { abortFuse, showFuseConnections } from '../../rig/login-node/fuse-connections.ts';
import { findLeftovers, noLeftovers } from '../../rig/login-node/leftovers.ts';
import { LiveSession } from '../../rig/login-node/live-session.ts';
import { mountSilently } from '../../rig/login-node/silent-mount.ts';
import { sharedProfile, SshHost } from '../../rig/login-node/ssh-host.ts';
import { installDirectory } from '../../rig/site/portal.ts';

/** With `user_allow_other`, root is let into such a file system, and would wait for its answer beyond SIGKILL. */
describe('a file system that never answers, mounted by a user who runs programs on the host', () => {
  const user = 'mute-ann';
  const berth = `${installDirectory}/berth`;
  let host: SshHost;
  beforeAll(async () => {
    host = await SshHost.start({
      mode: 'forced',
      users: { [user]: [] },
      profiles: { base: { ...sharedProfile, timeouts: { idle: '4h' } } },
      etc: { 'fuse.conf': 'user_allow_other\n' },
    });
    await showFuseConnections(host);
  }, 300_000);
  afterAll(() => host.stop());
  afterEach(async () => {
    await abortFuse(host, user);
    await host.asRoot(['pkill', '-KILL', '-u', user]);
    await host.asRoot([
      'sh',
      '-c',
      `umount -l $(awk '$3 == "fuse" { print $2 }' /proc/mounts) || true`,
    ]);
  });

  it.each([
    ['the runtime directory of systemd', '/run/user/UID'],
    ['a directory in it', '/run/user/UID/libpod'],
    ["the directory of the user's containers", '/var/lib/berth-ssh/users/UID'],
    ['the runtime directory that Berth mounts', '/run/berth/users/UID'],
  ])(
    'over %s is asked nothing by root',
    async (_, path) => {
      const { uid } = host.account(user);
      const directory = path.replace('UID', String(uid));
      const ofSystemd = `/run/user/${uid}`;
      const isBerths = path.startsWith('/run/berth');
      if (isBerths) await host.asRoot(['rm', '-r', ofSystemd]);
      const session = await LiveSession.startReady(host, user, 'cat');
      const asked = await mountSilently(host, user, directory);
      const inTime = async (...words: readonly string[]): Promise<string> => {
        const { stdout, exitCode } = await host.asRoot(['timeout', '40', berth, ...words], {
          timeout: 60_000,
        });
        expect(exitCode, words.join(' ')).toBeLessThan(124);
        return stdout.toString();
      };
      expect(await inTime('sessions', 'list')).toContain(user);
      await inTime('status');
      await inTime('doctor', '--user', user);
      await inTime('reap');
      // Whatever becomes of it: PAM's hook asks nothing.
      await host.ssh(user, ['true'], { timeout: 15_000 });
      await session.kill();
      const records = `/run/berth/connections/${uid}`;
      const open = async (): Promise<string> =>
        (await host.asRoot(['ls', records])).stdout.toString().replaceAll(/.*closing\n/g, '');
      await expect.poll(open, { timeout: 60_000 }).toBe('');
      await inTime('reap');
      expect((await asked()).filter((one) => one === 0)).toEqual([]);

      await abortFuse(host, user);
      await host.asRoot(['pkill', '-KILL', '-u', user]);
      await host.asRoot(['umount', '-l', directory]);
      if (isBerths) await host.asRoot(['install', '-d', '-m700', '-o', user, ofSystemd]);
      await expect
        .poll(
          async () => {
            await inTime('reap');
            return await findLeftovers(host, user);
          },
          { timeout: 90_000 },
        )
        .toEqual(noLeftovers);
    },
    400_000,
  );

  it('is what doctor warns about where root would be let in', async () => {
    const { stdout } = await host.asRoot([berth, 'doctor', '-o', 'json']);
    const { checks } = berthDocument(stdout.toString()) as { checks: CheckResult[] };
    expect(checks.find(({ id }) => id === 'fuse')).toMatchObject({ status: 'warning' });
  });
});
