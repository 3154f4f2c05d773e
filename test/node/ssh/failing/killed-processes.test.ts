import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installDirectory } from '../../../rig/site/portal.ts';
import { findLeftovers, noLeftovers } from '../../../rig/login-node/leftovers.ts';
import { LiveSession } from '../../../rig/login-node/live-session.ts';
import { SshHost } from '../../../rig/login-node/ssh-host.ts';

/** As `pkill -KILL -u ada` of an admin: by podman's database the containers still run. */
describe.each([
  ['user', { grace: '0s' }],
  ['connection', {}],
])('after all processes of a user with containers per %s were killed', (lifetime, more) => {
  let host: SshHost;
  beforeAll(async () => {
    const profiles = { base: { image: 'localhost/berth-site:1', lifetime, ...more } };
    host = await SshHost.start({ mode: 'forced', users: { ada: [] }, profiles });
  });
  afterAll(() => host.stop());

  const killAll = async (): Promise<void> => {
    const session = await LiveSession.startReady(host, 'ada', 'cat');
    await host.asRoot(['pkill', '-KILL', '-u', 'ada']);
    await session.kill();
  };
  const answer = async (word: string): Promise<string> => {
    const { stdout, stderr } = await host.ssh('ada', [`echo ${word}`]);
    return stdout.toString() + stderr;
  };

  it('the next login works', async () => {
    await killAll();
    expect(await answer('in')).toBe('in\n');
  });

  it('ten logins at once work', async () => {
    await killAll();
    const words = Array.from({ length: 10 }, (_, index) => `in${index}`);
    expect(await Promise.all(words.map(answer))).toEqual(words.map((word) => `${word}\n`));
  });

  it('the reaper removes what is left', async () => {
    await killAll();
    await expect
      .poll(
        async () => {
          const { exitCode, stderr } = await host.asRoot([`${installDirectory}/berth`, 'reap']);
          expect(exitCode, stderr).toBe(0);
          return findLeftovers(host, 'ada');
        },
        { timeout: 20_000 },
      )
      .toEqual(noLeftovers);
  });
});
