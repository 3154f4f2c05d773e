import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installDirectory } from '../../rig/site/portal.ts';
import { waitFor } from '../../rig/wait-for.ts';
import { SshHost } from '../../rig/login-node/ssh-host.ts';
import { findLeftovers, noLeftovers } from '../../rig/login-node/leftovers.ts';
import { LiveSession } from '../../rig/login-node/live-session.ts';

const profile = {
  ...{ image: 'localhost/berth-site:1', pull: 'never', network: 'host' },
  mounts: [{ source: '$HOME' }],
};

describe('a container with time limits', () => {
  let host: SshHost;

  beforeAll(async () => {
    host = await SshHost.start({
      ...{ mode: 'forced', users: { dan: [], eve: [], fay: [], gus: [] } },
      // Keepalives are no use of a session.
      sshd: 'ClientAliveInterval 1\nAcceptEnv BERTH_PROFILE',
      sshYml: {
        rules: [
          { profile: 'timed', users: ['dan'] },
          { profile: 'idle', users: ['eve'] },
          { profile: 'soft', users: ['fay'] },
          { profile: 'endless', users: ['gus'] },
          { profile: 'own', users: ['gus'], on_request: true },
        ],
      },
      profiles: {
        timed: { ...profile, lifetime: '15s' },
        idle: { ...profile, lifetime: 'user', grace: '0s', timeouts: { idle: '4s' } },
        endless: { ...profile, lifetime: 'user', grace: '0s' },
        own: { ...profile, timeouts: { hard: '6s' } },
        soft: { ...profile, lifetime: 'user', grace: '10m', timeouts: { soft: '1s' } },
      },
    });
  });
  afterAll(() => host.stop());

  const reap = (...args: string[]) => host.asRoot([`${installDirectory}/berth`, 'reap', ...args]);
  const expectNothing = async (user: string): Promise<void> => {
    await expect.poll(() => findLeftovers(host, user)).toEqual(noLeftovers);
  };

  it("ends after the profile's duration, even if a client is connected, who is told before", async () => {
    const session = await LiveSession.startReady(host, 'dan', 'cat');
    const terminal = LiveSession.start(host, 'dan', ['-tt', 'echo ready; cat']);
    await terminal.waitForOutput('ready');
    await reap();
    await terminal.waitForOutput('*** The lifetime of your container berth-timed is nearly over');
    expect(terminal.output).toContain('it ends in about 1 minute. Save your work. ***');
    await waitFor({ what: 'its time to be over', timeoutMs: 60_000, everyMs: 500 }, async () => {
      const { stdout } = await reap('--dry-run');
      expect(stdout.toString()).toBe('would end container berth-timed of dan\n');
      return true;
    });
    expect((await reap()).stdout.toString()).toBe('ended container berth-timed of dan\n');
    expect((await findLeftovers(host, 'dan')).containers).toEqual([]);
    expect(await terminal.outputAtEnd()).toContain('it ends now. Log in again for a new one. ***');
    expect([await terminal.exitCode(), await session.exitCode()]).toEqual([255, 255]);
    // While it goes on, nothing is written where a program may read.
    expect(await session.outputAtEnd()).toMatch(
      /^ready\n\*\*\* The lifetime of your container berth-timed is over: it ends now\./,
    );
    expect(session.stdout).toBe('ready\n');
    await expectNothing('dan');
  });

  it('ends when nothing is typed or printed for the time of timeouts.idle on any of its connections', async () => {
    const longerMs = 5_000;
    const terminal = LiveSession.start(host, 'eve', ['-tt', 'echo ready; cat']);
    await terminal.waitForOutput('ready');
    const printing = await LiveSession.startReady(host, 'eve', 'while sleep 1; do echo .; done');
    await reap();
    await sleep(longerMs);
    await reap();
    expect([terminal.client.exitCode, printing.client.exitCode]).toEqual([null, null]);
    await printing.kill();
    const quiet = await LiveSession.startReady(host, 'eve', 'cat');
    const transfer = LiveSession.start(host, 'eve', ['-s', 'sftp']);
    // SSH_FXP_INIT of version 3, and the server's answer.
    transfer.client.stdin?.write(Buffer.from([0, 0, 0, 5, 1, 0, 0, 0, 3]));
    await transfer.waitForOutput('posix-rename@openssh.com');
    const answer = transfer.stdout;
    for (const word of ['one', 'two', 'three']) {
      await reap();
      terminal.client.stdin?.write(`${word}\n`);
      // The terminal's echo, and the line of cat.
      await terminal.waitForOutput(`${word}\r\n${word}\r\n`);
      await sleep(longerMs / 2);
    }
    expect([terminal.client.exitCode, quiet.client.exitCode]).toEqual([null, null]);
    await reap();
    await sleep(longerMs);
    const { stdout, stderr } = await reap();
    expect(stdout.toString() + stderr).toMatch(/session ended at its limit.* limit=idle/);
    const why =
      /\*\*\* Nothing was typed or shown on your connections to container berth-idle for .* this session ends now\./;
    for (const session of [terminal, quiet]) expect(await session.outputAtEnd()).toMatch(why);
    for (const session of [terminal, quiet, transfer]) expect(await session.exitCode()).toBe(255);
    // Standard output is the program's. sshd sends nothing of a subsystem's standard error.
    expect([quiet.stdout, transfer.stdout]).toEqual(['ready\n', answer]);
    await expectNothing('eve');
  });

  it('ends though its connection has another container, which was there first', async () => {
    const master = join(host.directory, 'gus.sock');
    const shared = ['-S', master, '-o', 'SendEnv=BERTH_PROFILE'];
    const first = LiveSession.start(host, 'gus', ['-M', ...shared, 'echo ready; cat']);
    await first.waitForOutput('ready');
    const env = { PATH: '/usr/bin:/bin', BERTH_PROFILE: 'own' };
    const second = host.ssh('gus', [...shared, 'sleep 600'], { env });
    const containers = async () => (await findLeftovers(host, 'gus')).containers.length;
    await expect.poll(containers).toBe(2);
    await sleep(6_000);
    await reap();
    expect((await second).exitCode).toBe(255);
    await expectNothing('gus');
  });

  it('ends with its last connection, without its grace, from the age of timeouts.soft on', async () => {
    const session = await LiveSession.startReady(host, 'fay', 'sleep 1; echo older; cat');
    await session.waitForOutput('older');
    await reap();
    expect((await findLeftovers(host, 'fay')).containers).toHaveLength(1);
    await session.kill();
    await expectNothing('fay');
  });
});
