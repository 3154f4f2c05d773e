import { readdir } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LiveSession } from '../../rig/login-node/live-session.ts';
import { standardProfile } from '../../rig/login-node/ssh-host.ts';
import { startAccounting } from '../../rig/slurm/accounting.ts';
import { SlurmSite } from '../../rig/slurm/slurm-site.ts';

const ann = 'limit-ann';
/** Has no account in Slurm. */
const zoe = 'limit-zoe';

describe('a site with accounts and limits in Slurm', () => {
  let site: SlurmSite;

  beforeAll(async () => {
    const choose = {
      ...{ account: 'any', qos: 'any', partition: 'any' },
      ...{ cpus: { max: 64 }, memory: { max: '1T' } },
    };
    site = await SlurmSite.start(
      {
        ...{ mode: 'forced', users: { [ann]: [], [zoe]: [] }, sshd: 'AcceptEnv BERTH_*' },
        profiles: {
          base: {
            ...{ ...standardProfile, backend: 'slurm', lifetime: 'user', grace: '0s' },
            ...{ limits: { cpus: 2, memory: '600M' }, batch: { choose } },
          },
        },
      },
      1,
      'PartitionName=closed Nodes=ALL State=DOWN\n',
    );
    await startAccounting(site, [
      'add qos strict set MaxTRESPerJob=cpu=1 Flags=DenyOnLimit',
      'add qos small set MaxTRESPerJob=cpu=1',
      'add account lab',
      `add user ${ann} account=lab qos=normal,strict,small`,
    ]);
  });
  afterAll(() => site.stop());

  const login = (user: string, env: string) =>
    site.login.ssh(user, [...(env === '' ? [] : ['-o', `SetEnv=${env}`]), 'echo in']);

  const keysOf = (user: string): string =>
    `${site.login.account(user).home}/.local/state/berth/allocations`;

  it.each([
    ['no account', zoe, '', 'the account does not exist, or may not use the partition', 'refused'],
    ['an unknown account', ann, 'BERTH_ACCOUNT=nolab', 'the account does not exist', 'refused'],
    [
      'a QOS of others',
      ann,
      'BERTH_QOS=none',
      'the QOS does not exist, or is not for you',
      'refused',
    ],
    [
      'too much for the QOS',
      ann,
      'BERTH_QOS=strict',
      'a limit of your account or QOS is reached (number of jobs, size or time) (',
      'refused',
    ],
    [
      'too much for it, seen in the queue',
      ann,
      'BERTH_QOS=small',
      'QOSMaxCpuPerJobLimit',
      'never-starts',
    ],
    [
      'a partition that is down',
      ann,
      'BERTH_PARTITION=closed',
      'the partition is down',
      'never-starts',
    ],
    ['no such partition', ann, 'BERTH_PARTITION=none', 'there is no such partition', 'refused'],
    ['more than a node has', ann, 'BERTH_MEMORY=900G', 'no node has what it asks for', 'refused'],
  ])('refuses at once: %s', async (_, user, env, words, code) => {
    const { exitCode, stderr } = await login(user, env);
    expect([exitCode, stderr]).toEqual([255, expect.stringContaining(words)]);
    // The next step, as in the catalogue of errors.
    expect(stderr).toMatch(new RegExp(`\\[slurm-${code}, session \\S+\\]\\. Ask for less, or for`));
    const { stdout } = await site.slurm.as(user, ['squeue', '--me', '-h']);
    expect(stdout.toString()).toBe('');
    expect(await readdir(site.login.path(keysOf(user)))).toEqual([]);
  });

  it('says on a terminal that a choice does not change the job that is open', async () => {
    const options = ['-o', 'SetEnv=BERTH_ACCOUNT=lab'];
    const first = LiveSession.start(site.login, ann, [...options, 'echo ready; cat']);
    await first.waitForOutput('ready');
    const second = LiveSession.start(site.login, ann, [...options, '-tt']);
    await second.waitForOutput('runs already; BERTH_ACCOUNT counts only for a new job');
    await Promise.all([first.kill(), second.kill()]);
  });

  const keysGone = (): Promise<void> =>
    expect.poll(() => readdir(site.login.path(keysOf(ann)))).toEqual([]);
  const jobOf = async (running: ReturnType<typeof login>): Promise<string> => {
    const { exitCode, stdout, stderr } = await running;
    expect([exitCode, stderr]).toEqual([0, '']);
    return stdout.toString().trim();
  };

  it('keeps a job for a login that has found it and is not connected yet', async () => {
    await keysGone();
    const live = await LiveSession.startReady(site.login, ann, 'cat');
    const job = await jobOf(site.login.ssh(ann, ['echo $SLURM_JOB_ID']));
    const slow = `cd ${keysOf(ann)}/*/logins; touch -d '1 hour' slow`;
    const { exitCode, stderr } = await site.login.asUser(ann, ['sh', '-c', slow]);
    expect([exitCode, stderr]).toEqual([0, '']);
    await live.kill();
    // Its grace is 0 seconds, and it looks each second.
    await sleep(4_000);
    expect(await jobOf(site.login.ssh(ann, ['echo $SLURM_JOB_ID']))).toBe(job);
    await site.login.asUser(ann, ['sh', '-c', `rm ${keysOf(ann)}/*/logins/slow`]);
    await keysGone();
  });

  it('starts another job for a login that comes when the end of the last one has begun', async () => {
    const live = await LiveSession.startReady(site.login, ann, 'echo $SLURM_JOB_ID .; cat');
    await live.waitForOutput(' .');
    await site.login.asUser(ann, ['sh', '-c', `rm -r ${keysOf(ann)}/*`]);
    const submitted = async (): Promise<void> => {
      await expect.poll(() => readdir(site.login.path(keysOf(ann)))).toHaveLength(1);
    };
    const [next] = await Promise.all([
      jobOf(site.login.ssh(ann, ['echo $SLURM_JOB_ID'])),
      submitted().finally(() => live.kill()),
    ]);
    expect(live.output).not.toContain(`${next} .`);
  });

  it('works while slurmdbd is away', async () => {
    await site.login.asRoot(['pkill', '-KILL', '-x', 'slurmdbd']);
    const { exitCode, stdout, stderr } = await login(ann, 'BERTH_ACCOUNT=lab');
    expect([exitCode, stdout.toString(), stderr]).toEqual([0, 'in\n', '']);
  });
});
