import { readdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitFor } from '../../rig/wait-for.ts';
import { findLeftovers, noLeftovers } from '../../rig/login-node/leftovers.ts';
import { LiveSession } from '../../rig/login-node/live-session.ts';
import { SshHost, standardSshYml } from '../../rig/login-node/ssh-host.ts';
import { seededRandom } from '../../rig/seeded-random.ts';
import { ensurePackages } from '../../rig/site/debian-packages.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { repetitions } from '../../rig/soak.ts';

const profile = {
  image: 'localhost/berth-site:1',
  pull: 'never',
  network: 'host',
  mounts: [{ source: '$HOME' }],
};
/** By the user who has it. */
const profiles = {
  ada: { ...profile, lifetime: 'connection' },
  bob: { ...profile, lifetime: 'user', grace: '0s' },
  cleo: { ...profile, lifetime: '1h' },
};
const users = Object.keys(profiles);
const commands = [
  ['sleep 1000'],
  ['-tt'],
  ['setsid sleep 1000 & nohup sleep 1000'],
  ['cat'],
  [`trap '' HUP TERM; while :; do sleep 1; done`],
  ['-N'],
];

describe.each(['crun', 'runc'])('what connections with containers of %s started', (runtime) => {
  const many = repetitions(9, 72);
  let host: SshHost;
  beforeAll(async () => {
    await ensurePackages(['runc']);
    host = await SshHost.start({
      mode: 'forced',
      users: { ada: [], bob: [], cleo: [] },
      profiles,
      // sshd gives up on a client that does not answer after two seconds.
      sshd: 'ClientAliveInterval 1\nClientAliveCountMax 2',
      sshYml: {
        rules: users.map((user) => ({ profile: user, users: [user] })),
        podman: { ...standardSshYml.podman, runtime: `/usr/bin/${runtime}` },
      },
    });
  });
  afterAll(() => host.stop());

  const reap = () => host.asRoot([`${installDirectory}/berth`, 'reap', '--unused']);
  /** Another connection of the same user may be hit. */
  const monitor = (user: string): Promise<string> =>
    waitFor({ what: 'a connection', timeoutMs: 60_000 }, async () => {
      const records = await readdir(
        host.path(`/run/berth/connections/${host.account(user).uid}`),
      ).catch(() => []);
      return records.find((name) => /^\d+\.\d+$/.test(name))?.replace(/\..*/, '');
    });
  /** A process of the user's: of sshd, Berth, podman or the session. */
  const killOne = (user: string, random: number): Promise<unknown> => {
    const { uid } = host.account(user);
    const script = 'set -- $(pgrep -u "$0"); [ $# = 0 ] || { shift $((R % $#)); kill -9 "$1"; }';
    const number = Math.floor(random * 1_000);
    return host.asRoot(['env', `R=${number}`, 'bash', '-c', script, String(uid)]);
  };

  it(`is gone after ${many} that are cut at random moments`, async () => {
    const random = seededRandom(20261122);
    const cuts = Array.from({ length: many }, () => ({
      moment: random() * 3_000,
      which: random(),
    }));
    const cut = async (number: number): Promise<void> => {
      const user = users[number % 3] ?? '';
      const { moment = 0, which = 0 } = cuts[number] ?? {};
      const session = LiveSession.start(host, user, commands[Math.floor(number / 3) % 6] ?? []);
      await sleep(moment);
      switch (number % 5) {
        case 0:
          session.freeze();
          break;
        case 1:
          await host.asRoot(['kill', '-9', await monitor(user)]);
          break;
        case 2:
          await host.asRoot(['pkill', '-9', '-P', await monitor(user), '-u', user]);
          break;
        case 3:
          await killOne(user, which);
          break;
        default:
      }
      await sleep(500);
      await session.kill();
    };
    let next = 0;
    const worker = async (): Promise<void> => {
      while (next < many) await cut(next++);
    };
    await Promise.all(Array.from({ length: 6 }, worker));
    // The reaper handles connections whose sshd was killed; the others close by themselves meanwhile.
    await waitFor({ what: 'all to be gone', timeoutMs: 60_000, everyMs: 1_000 }, async () => {
      await reap();
      for (const user of users) expect(await findLeftovers(host, user)).toEqual(noLeftovers);
      return true;
    });
    for (const user of users)
      expect((await host.ssh(user, ['echo in'])).stdout.toString()).toBe('in\n');
  }, 600_000);
});
