import { readdir } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installDirectory } from '../../rig/site/portal.ts';
import { waitFor } from '../../rig/wait-for.ts';
import { SshHost } from '../../rig/login-node/ssh-host.ts';
import { findLeftovers, noLeftovers } from '../../rig/login-node/leftovers.ts';
import { LiveSession } from '../../rig/login-node/live-session.ts';
import { sessionId } from '../../../src/system/program/session-id.ts';

const profile = {
  ...{ image: 'localhost/berth-site:1', pull: 'never', network: 'host' },
  mounts: [{ source: '$HOME' }],
};
const users = { ada: [], bob: [], cleo: [] };

describe('what a connection started', () => {
  let host: SshHost;

  beforeAll(async () => {
    host = await SshHost.start({
      ...{ mode: 'forced', users },
      // sshd gives up on a client that does not answer after two seconds.
      sshd: 'ClientAliveInterval 1\nClientAliveCountMax 2',
      sshYml: {
        rules: [
          { profile: 'own', users: ['ada'] },
          { profile: 'shared', users: ['bob'] },
          { profile: 'lingering', users: ['cleo'] },
        ],
      },
      profiles: {
        own: { ...profile, lifetime: 'connection' },
        shared: { ...profile, lifetime: 'user', grace: '0s' },
        lingering: { ...profile, lifetime: 'user', grace: '0s', linger: true },
      },
    });
  });
  afterAll(() => host.stop());

  const reap = (...args: string[]) => host.asRoot([`${installDirectory}/berth`, 'reap', ...args]);
  const expectNothing = async (user: string): Promise<void> => {
    await expect.poll(() => findLeftovers(host, user)).toEqual(noLeftovers);
  };
  const records = async (user: string): Promise<string[]> =>
    (await readdir(host.path(`/run/berth/connections/${host.account(user).uid}`))).filter((name) =>
      /^\d+\.\d+$/.test(name),
    );
  const monitors = async (user: string): Promise<string[]> =>
    (await records(user)).map((name) => name.replace(/\..*/, ''));

  it('is found by these tests while the connection is open', async () => {
    const session = await LiveSession.startReady(host, 'ada', 'cat');
    const storage = `/var/lib/berth-ssh/users/${host.account('ada').uid}/storage`;
    const planted = `${storage}/volumes/planted`;
    await host.asRoot(['sh', '-c', `mkdir -p ${planted} && mount --bind ${planted} ${planted}`]);
    for (const [what, found] of Object.entries(await findLeftovers(host, 'ada')))
      expect(found, what).not.toEqual([]);
    await host.asRoot(['sh', '-c', `umount ${planted} && rmdir ${planted}`]);
    await session.kill();
    await expectNothing('ada');
  });

  it('is gone when the client is killed, and syslog has open and close of the session', async () => {
    const session = await LiveSession.startReady(
      host,
      'ada',
      'sleep 1000 & setsid sleep 1000 & cat',
    );
    const [id = ''] = await records('ada');
    await session.kill();
    await expectNothing('ada');
    const named = `user=ada session=${sessionId(id, host.name)} rhost=127.0.0.1`;
    expect(await host.log()).toContain(`msg="session opened" ${named}`);
    const closed = `msg="session closed" ${named} seconds=\\d+ processes=[1-9]\\d* containers=1`;
    // Written when all is gone.
    await expect.poll(() => host.log()).toMatch(new RegExp(closed));
  });

  it('is gone when the network fails', async () => {
    const session = await LiveSession.startReady(host, 'ada', 'sleep 1000');
    session.freeze();
    await expectNothing('ada');
    await session.kill();
  });

  it('is gone even if it ignores every signal that can be ignored', async () => {
    const session = await LiveSession.startReady(
      ...([host, 'ada', `trap '' HUP INT TERM; while :; do sleep 1; done`] as const),
    );
    await session.kill();
    await expectNothing('ada');
  });

  it('is gone when its terminal is closed', async () => {
    const session = LiveSession.start(host, 'ada', ['-tt']);
    session.client.stdin?.write('nohup sleep 1000 & echo re""ady\n');
    await session.waitForOutput('ready');
    await session.kill();
    await expectNothing('ada');
  });

  it("leaves the container that other connections of the user's share, and their work", async () => {
    const first = await LiveSession.startReady(host, 'bob', 'sleep 1000');
    const second = await LiveSession.startReady(host, 'bob', 'sleep 2000 & cat');
    const firstSleeps = async (): Promise<boolean> =>
      (await findLeftovers(host, 'bob')).processes.some((line) => line.endsWith(' sleep 1000'));
    await first.kill();
    await expect.poll(firstSleeps).toBe(false);
    await expect.poll(() => records('bob')).toHaveLength(1);
    second.client.stdin?.write('still here\n');
    await second.waitForOutput('still here');
    expect((await findLeftovers(host, 'bob')).containers).toEqual(['berth-shared']);
    await second.kill();
    await expectNothing('bob');
  });

  it('keeps running only with linger: true and if it ignores SIGHUP', async () => {
    const work = `nohup sleep 3000 >&- 2>&- & sleep 4000 & cat`;
    const lingering = await LiveSession.startReady(host, 'cleo', work);
    const shared = await LiveSession.startReady(host, 'bob', work);
    await lingering.kill();
    await shared.kill();
    await expectNothing('bob');
    const sleeps = async (): Promise<string[]> =>
      (await findLeftovers(host, 'cleo')).processes.flatMap(
        (line) => / (sleep \d+)$/.exec(line)?.[1] ?? [],
      );
    await expect.poll(sleeps).toEqual(['sleep 3000']);
    await expect.poll(() => records('cleo')).toEqual([]);
    // The reaper leaves it while it works, and ends the container after that.
    await reap();
    expect(await sleeps()).toEqual(['sleep 3000']);
    await host.asRoot(['pkill', '-f', '^sleep 3000']);
    await reap();
    await expectNothing('cleo');
  });

  it('is ended by the reaper when sshd was killed', async () => {
    await LiveSession.startReady(host, 'ada', 'sleep 1000');
    await LiveSession.startReady(host, 'bob', 'sleep 1000');
    const pids = [...(await monitors('ada')), ...(await monitors('bob'))];
    await host.asRoot(['kill', '-9', ...pids]);
    const runs = await Promise.all([reap(), reap()]);
    expect(runs.map(({ exitCode }) => exitCode)).toEqual([0, 0]);
    const said = runs.map(({ stdout }) => stdout.toString()).join('');
    for (const user of ['ada', 'bob'])
      expect(said).toMatch(new RegExp(`^ended connection \\S+ of ${user}$`, 'm'));
    await expectNothing('ada');
    await expectNothing('bob');
  });

  it('is removed by the reaper after a reboot, with only the store to go by', async () => {
    const session = await LiveSession.startReady(host, 'bob', 'sleep 1000');
    const { uid } = host.account('bob');
    const [monitor = ''] = await monitors('bob');
    // As after a reboot: no processes, nothing in /run, and the disk unchanged.
    await host.asRoot(['kill', '-9', monitor]);
    await host.asRoot(['pkill', '-9', '-u', 'bob']);
    await session.kill();
    const gone = [`/run/berth/*`, `/run/user/${uid}/*`];
    await host.asRoot(['sh', '-c', `rm -rf ${gone.join(' ')}`]);
    expect((await findLeftovers(host, 'bob')).containers).toEqual(['berth-shared']);
    // Podman lists a container before it runs, so the reaper waits for a minute.
    const stored = `/var/lib/berth-ssh/users/${uid}/storage/overlay-containers/containers.json`;
    await host.asRoot(['sed', '-i', 's/"created":"20../"created":"2001/', stored]);
    expect((await reap()).stdout.toString()).toBe('ended container berth-shared of bob\n');
    await expectNothing('bob');
  });

  it('is killed even if the disk is full, and removed when there is space again', async () => {
    const { uid, gid } = host.account('ada');
    const storage = `/var/lib/berth-ssh/users/${uid}`;
    const options = `size=64m,mode=0700,uid=${uid},gid=${gid}`;
    await host.asRoot(['mount', '-t', 'tmpfs', '-o', options, 'full', storage]);
    const session = await LiveSession.startReady(host, 'ada', 'sleep 1000');
    await host.asRoot(['sh', '-c', `cat /dev/zero >${storage}/fill`]);
    await session.kill();
    await expect.poll(async () => (await findLeftovers(host, 'ada')).processes).toEqual([]);
    await host.asRoot(['rm', `${storage}/fill`]);
    await waitFor({ what: 'ada to be gone', timeoutMs: 60_000 }, async () => {
      await reap();
      expect(await findLeftovers(host, 'ada')).toEqual(noLeftovers);
      return true;
    });
    await host.asRoot(['umount', storage]);
  });

  it("is all that is ended: other users' processes and the user's other processes keep running", async () => {
    await host.asUser('ada', ['sh', '-c', 'setsid sleep 5000 >&- 2>&- <&- &']);
    const other = await waitFor({ what: 'sleep 5000', timeoutMs: 60_000 }, async () => {
      const { stdout } = await host.asRoot(['pgrep', '-f', '^sleep 5000']);
      return /^\d+/.exec(stdout.toString())?.[0];
    });
    const bob = await LiveSession.startReady(host, 'bob', 'cat');
    const [bobs = ''] = await records('bob');
    const session = await LiveSession.startReady(
      ...([host, 'ada', `BERTH_CONNECTION=${bobs} setsid sleep 6000 & cat`] as const),
    );
    // The shell says that it is ready before it has started them.
    const own = async (): Promise<readonly string[]> =>
      (await findLeftovers(host, 'ada')).processes.filter((one) =>
        /^\d+ (?:sleep \d+|cat)$/.test(one),
      );
    const processes = await waitFor({ what: 'all of the session', timeoutMs: 60_000 }, async () => {
      const found = await own();
      return found.length === 3 ? found : undefined;
    });
    // Closing bob's connection does not affect a process of ada that has his connection in its environment.
    await bob.kill();
    await expectNothing('bob');
    expect(await own()).toEqual(processes);
    await session.kill();
    await waitFor({ what: "ada's session to be gone", timeoutMs: 60_000 }, async () => {
      expect((await findLeftovers(host, 'ada')).processes).toEqual([`${other} sleep 5000`]);
      return true;
    });
    await host.asRoot(['kill', other]);
    await expectNothing('ada');
  });

  it('is counted for Prometheus', async () => {
    const file = '/run/berth.prom';
    const session = await LiveSession.startReady(host, 'bob', 'cat');
    expect((await reap('--textfile', file)).exitCode).toBe(0);
    const text = (await host.asRoot(['cat', file])).stdout.toString();
    expect(text).toMatch(/^berth_ssh_sessions_open 1$/m);
    expect(text).toMatch(/^berth_ssh_containers 1$/m);
    expect(text).toMatch(/^berth_ssh_reaped_connections_total \d+$/m);
    expect(text).toMatch(/^berth_ssh_reap_failures_total \d+$/m);
    expect((await host.asRoot(['stat', '-c', '%a', file])).stdout.toString()).toBe('644\n');
    await session.kill();
    await expectNothing('bob');
  });
});
