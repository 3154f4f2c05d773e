import { readdir } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LiveSession } from '../../rig/login-node/live-session.ts';
import { standardProfile } from '../../rig/login-node/ssh-host.ts';
import { SlurmSite } from '../../rig/slurm/slurm-site.ts';

const alice = 'foe-alice';
const mallory = 'foe-mallory';
/** A site that keeps its own in the comment and the name of jobs, as with Slurm's example of the plugin. */
const jobSubmit = `function slurm_job_submit(job, partitions, uid)
  job.comment = 'site-' .. uid
  job.name = 'site|' .. (job.name or '')
  return slurm.SUCCESS
end
function slurm_job_modify() return slurm.SUCCESS end
return slurm.SUCCESS
`;
const crowd = Array.from({ length: 8 }, (_, index) => `foe-user${index}`);

describe('an attacker with an account, and many users, in jobs of Slurm', () => {
  let site: SlurmSite;

  beforeAll(async () => {
    const users = [alice, mallory, ...crowd];
    site = await SlurmSite.start(
      {
        ...{ mode: 'forced', users: Object.fromEntries(users.map((user) => [user, []])) },
        sshd: 'AcceptEnv BERTH_*',
        profiles: {
          base: {
            ...{ ...standardProfile, backend: 'slurm', lifetime: 'user', grace: '2s' },
            limits: { cpus: 1, memory: '240M' },
            batch: { partition: 'shared', choose: { account: 'any', gres: ['gpu:1'] } },
          },
        },
      },
      2,
      'JobSubmitPlugins=lua\nPartitionName=shared Nodes=ALL OverSubscribe=FORCE:8 State=UP\n',
      jobSubmit,
    );
  });
  afterAll(() => site.stop());

  const as = async (user: string, script: string, host = site.login): Promise<string> => {
    const { stdout, stderr, exitCode } = await host.asUser(user, ['sh', '-c', script]);
    expect(exitCode, stderr).toBe(0);
    return stdout.toString().trim();
  };
  const keysOf = (user: string): string =>
    `${site.login.account(user).home}/.local/state/berth/allocations`;
  const jobs = async (user: string): Promise<string> =>
    (await site.slurm.as(user, ['squeue', '--me', '-h', '-o', '%i'])).stdout.toString();
  const noJobs = (user: string): Promise<void> =>
    expect.poll(() => jobs(user), { timeout: 90_000, interval: 200 }).toBe('');
  const inJob = async (user: string): Promise<LiveSession> => {
    const session = LiveSession.start(site.login, user, [
      'echo job $SLURM_JOB_ID $(hostname) .; cat',
    ]);
    await session.waitForOutput(' .\n');
    return session;
  };

  it('gives nobody a job of others that has the same name and comment', async () => {
    const first = await inJob(alice);
    const [key = ''] = (await readdir(site.login.path(keysOf(alice)))).filter((name) =>
      /^[0-9a-f]{16}$/.test(name),
    );
    const forged = ['--job-name=berth-base', `--comment=berth-session:${key}`, '-o', '/dev/null'];
    const options = ['-p', 'shared', '--mem=100', ...forged];
    const job = await site.slurm.sbatch(mallory, '#!/bin/sh\nexec sleep 600\n', options);
    await site.slurm.waitForState(job, 'RUNNING');
    await site.slurm.as(alice, ['scancel', '--me']);
    expect(await first.exitCode()).toBe(255);
    await noJobs(alice);
    const { exitCode, stdout } = await site.login.ssh(alice, ['echo $SLURM_JOB_ID; id -un']);
    expect(exitCode).toBe(0);
    const [own, name] = stdout.toString().split('\n');
    expect(own).not.toBe(job);
    expect(name).toBe(alice);
    expect(await jobs(mallory)).toBe(`${job}\n`);
    await site.slurm.as(mallory, ['scancel', job]);
    await noJobs(alice);
  });

  it.each<[string, string]>([
    ['an option', '--uid=0'],
    ['a short option', '-D/etc'],
    ['a command', '$(touch /tmp/foe-was-here)'],
    ['another line', 'x\n#SBATCH --uid=0\ntouch /tmp/foe-was-here'],
    ['a quote', "x' --uid=0 '"],
  ])('refuses %s in a variable, and submits nothing', async (_, value) => {
    for (const name of ['BERTH_ACCOUNT', 'BERTH_GRES', 'BERTH_TIME']) {
      const env = { PATH: '/usr/bin:/bin', [name]: value };
      const { exitCode, stderr } = await site.login.ssh(alice, ['-o', 'SendEnv=BERTH_*', 'true'], {
        env,
      });
      expect([exitCode, stderr]).toEqual([255, expect.stringContaining('[slurm-choice-refused,')]);
    }
    expect(await jobs(alice)).toBe('');
    expect((await readdir('/tmp')).includes('foe-was-here')).toBe(false);
  });

  it('a file that is none in the place of the port is an error at once', async () => {
    const session = await inJob(alice);
    const plants = ['mkfifo $file', 'ln -s /dev/zero $file', 'mkdir $file', 'truncate -s 8G $file'];
    for (const plant of plants) {
      await as(alice, `for file in ${keysOf(alice)}/*/port; do rm -r $file; ${plant}; done`);
      const { exitCode, stderr } = await site.login.ssh(alice, ['true'], { timeout: 20_000 });
      expect([exitCode, stderr], plant).toEqual([255, expect.stringMatching(/\[user-file-/)]);
    }
    await session.kill();
    await noJobs(alice);
  });

  it("removes nothing of others at a job's end, which root does", async () => {
    await as(alice, 'mkdir -p kept; touch kept/file');
    // All hosts of tests share /tmp: what is there of a run that failed.
    const former = ['alice', 'link', 'trap'].map((end) => `/tmp/berth-job-*-${end}`).join(' ');
    await site.login.asRoot(['sh', '-c', `rm -rf ${former}`]);
    const { home } = site.login.account(alice);
    const script = `#!/bin/sh
      mkdir /tmp/berth-job-$SLURM_JOB_ID-trap; ln -s ${home}/kept /tmp/berth-job-$SLURM_JOB_ID-trap/in
      ln -s ${home}/kept /tmp/berth-job-$SLURM_JOB_ID-link; sleep 600\n`;
    const options = ['-p', 'shared', '--mem=100', '-o', '/dev/null'];
    const job = await site.slurm.sbatch(mallory, script, options);
    await site.slurm.waitForState(job, 'RUNNING');
    await as(alice, `mkdir /tmp/berth-job-${job}-alice`);
    const made = ['alice', 'link', 'trap'].map((end) => `/tmp/berth-job-${job}-${end}`).join(' ');
    const trap = () => as(alice, `ls -d ${made} 2>/dev/null || true`);
    await expect.poll(trap).toMatch(/-link\n.*-trap/);
    await site.slurm.as(mallory, ['scancel', job]);
    await expect.poll(trap).toBe(`/tmp/berth-job-${job}-alice`);
    expect(await as(alice, `ls kept; rmdir /tmp/berth-job-${job}-alice`)).toBe('file');
  });

  it('leaves files of others in the directory of a job, and drains no node whose user fills it again and again', async () => {
    const options = ['-p', 'shared', '--mem=100', '-o', '/dev/null'];
    const job = await site.slurm.sbatch(mallory, '#!/bin/sh\nsleep 600\n', options);
    await site.slurm.waitForState(job, 'RUNNING');
    const directory = `/tmp/berth-job-${job}-trap`;
    await as(mallory, `mkdir -m 0777 ${directory}`);
    await as(alice, `mkdir ${directory}/alice; touch ${directory}/alice/file`);
    const fill = `for each in 1 2 3 4; do
      (while :; do mkdir -p ${directory}/$each/$RANDOM; : >${directory}/$each/$RANDOM/file; done) 2>/dev/null & done; wait`;
    const filler = await site.slurm.sbatch(mallory, `#!/bin/bash\n${fill}\n`, options);
    await site.slurm.waitForState(filler, 'RUNNING');
    await site.slurm.as(mallory, ['scancel', job]);
    const states = async (): Promise<string> =>
      (await site.login.asRoot(['sinfo', '-h', '-o', '%T'])).stdout.toString();
    const ofJob = async (): Promise<string> =>
      (await site.slurm.as(mallory, ['squeue', '-h', '-j', job, '-o', '%T'])).stdout.toString();
    await expect.poll(ofJob, { timeout: 60_000, interval: 200 }).toBe('');
    expect(await states()).not.toMatch(/drain|down/);
    await site.slurm.as(mallory, ['scancel', filler]);
    await expect.poll(() => jobs(mallory), { timeout: 60_000, interval: 200 }).toBe('');
    expect(await states()).not.toMatch(/drain|down/);
    expect(await as(alice, `ls ${directory}/alice; rm -r ${directory}/alice`)).toBe('file');
    await as(mallory, `rm -rf ${directory}`);
  });

  it(`asks slurmctld once for each connection of ${crowd.length} users that joins a job, and no more`, async () => {
    /** Questions about a job, and all requests of these users. */
    const requests = async (): Promise<{ lists: number; all: number }> => {
      const { stdout } = await site.login.asRoot(['sdiag']);
      const [types = '', users = ''] = stdout.toString().split('by user');
      const counts = [...users.matchAll(/^\s+foe-user\d+\s*\(\s*\d+\)\s+count:(\d+)/gm)];
      const [, lists = '0'] = /REQUEST_JOB_INFO_SINGLE\s.*count:(\d+)/.exec(types) ?? [];
      return {
        lists: Number(lists),
        all: counts.reduce((sum, [, count]) => sum + Number(count), 0),
      };
    };
    await site.login.asRoot(['sdiag', '--reset']);
    const makers = await Promise.all(crowd.map(inJob));
    const made = await requests();
    const joiners = await Promise.all(crowd.map(inJob));
    const joined = await requests();
    for (const { client } of [...makers, ...joiners]) client.stdin?.end();
    for (const session of [...makers, ...joiners]) expect(await session.exitCode()).toBe(0);
    const { length } = crowd;
    console.log(
      `requests to slurmctld for each connection: ${made.all / length} if it makes a job, ${(joined.all - made.all) / length} if it joins one`,
    );
    expect(joined).toEqual({ lists: made.lists + length, all: made.all + length });
    expect(await requests()).toEqual(joined);
  });
});
