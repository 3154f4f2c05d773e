import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { abortFuse, showFuseConnections } from '../../rig/login-node/fuse-connections.ts';
import { mountSilently } from '../../rig/login-node/silent-mount.ts';
import { SshHost, standardProfile } from '../../rig/login-node/ssh-host.ts';
import { installDirectory } from '../../rig/site/portal.ts';

describe("Slurm's epilog, where a user has root wait for a FUSE file system", () => {
  const mallory = 'epilog-mallory';
  const alice = 'epilog-alice';
  /** All hosts of tests share /tmp. */
  const job = (number: number): string => `${process.pid}${number}`;
  const directory = (number: number): string => `/tmp/berth-job-${job(number)}-made`;
  const jobs = [1, 2, 3];
  let host: SshHost;

  beforeAll(async () => {
    host = await SshHost.start({
      mode: 'forced',
      users: { [mallory]: [], [alice]: [] },
      profiles: { base: standardProfile },
      etc: { 'fuse.conf': 'user_allow_other\n' },
    });
    await showFuseConnections(host);
  }, 300_000);
  afterEach(async () => {
    await abortFuse(host, mallory);
    await host.asRoot(['pkill', '-KILL', '-u', mallory]);
    await host.asRoot(['umount', '-l', `${directory(1)}/held`]);
    await host.asRoot(['rm', '-rf', ...jobs.map((each) => directory(each))]);
  });
  afterAll(() => host.stop());

  const make = async (user: string, path: string): Promise<void> => {
    expect(await host.asUser(user, ['mkdir', '-p', path])).toMatchObject({ exitCode: 0 });
  };
  /** As slurmd runs it. It ends in time, and says that the node is in order. */
  const epilog = async (user: string, number: number): Promise<void> => {
    const variables = [
      `SLURM_JOB_UID=${host.account(user).uid}`,
      `SLURM_JOB_USER=${user}`,
      `SLURM_JOB_ID=${job(number)}`,
    ];
    const program = `${installDirectory}/share/etc/slurm/berth-epilog`;
    const ended = await host.asRoot(['timeout', '30', 'env', ...variables, 'sh', program]);
    expect(ended.exitCode).toBe(0);
  };
  const isThere = async (number: number): Promise<boolean> =>
    (await host.asRoot(['test', '-d', directory(number)])).exitCode === 0;
  const waiting = async (): Promise<number> => {
    const { stdout } = await host.asRoot(['pgrep', '-u', '0', '-fx', `find ${directory(1)} .*`]);
    return stdout.toString().split('\n').filter(Boolean).length;
  };

  it('removes what is of the user and of containers, and nothing of others, also if NSS knows no names', async () => {
    const path = directory(3);
    await make(alice, path);
    const ranges = await host.asRoot(['grep', `^${alice}:`, '/etc/subuid']);
    const [, start, count] = ranges.stdout.toString().split(':').map(Number);
    if (start === undefined || count === undefined) throw new Error('alice has no range');
    const mine = [host.account(alice).uid, start, start + count - 1];
    // As all accounts are while NSS does not answer, these have no name.
    const others = [start - 1, start + count, 3_999_999_999];
    for (const uid of [...mine, ...others]) {
      await host.asRoot(['mkdir', `${path}/${uid}`]);
      await host.asRoot(['chown', String(uid), `${path}/${uid}`]);
    }
    const nameless = ['getent', 'passwd', '3999999999'];
    expect(await host.asRoot(nameless)).toMatchObject({ exitCode: 2 });

    await epilog(alice, 3);

    const left = (await host.asRoot(['ls', path])).stdout.toString().trim().split('\n');
    expect(left).toEqual(others.map(String).sort());
    await host.asRoot(['rm', '-r', path]);
  });

  it('leaves one process for this user, and removes what others left', async () => {
    await make(mallory, `${directory(1)}/held`);
    await make(mallory, directory(2));
    await make(alice, directory(3));
    const asked = await mountSilently(host, mallory, `${directory(1)}/held`);
    await epilog(mallory, 1);
    expect(await asked()).toContain(0);
    expect(await waiting()).toBe(1);

    await epilog(mallory, 1);
    expect(await waiting()).toBe(1);
    await epilog(mallory, 2);
    expect(await isThere(2)).toBe(true);
    await epilog(alice, 3);
    expect(await isThere(3)).toBe(false);

    await abortFuse(host, mallory);
    await expect.poll(waiting).toBe(0);
    await epilog(mallory, 2);
    expect(await isThere(2)).toBe(false);
  }, 200_000);
});
