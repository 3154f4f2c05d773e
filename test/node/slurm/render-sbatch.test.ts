import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { processesOf } from '../../rig/login-node/leftovers.ts';
import { SshHost, standardProfile } from '../../rig/login-node/ssh-host.ts';
import { codeBlocks } from '../../rig/markdown-pages.ts';
import { ensurePackages } from '../../rig/site/debian-packages.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { SlurmCluster, slurmPackages } from '../../rig/slurm/slurm-cluster.ts';

const user = 'job-bea';
const group = 'job-project';
/** The commands of the page: one prints the script, one submits it. */
const [page] = codeBlocks('docs/batch.md').filter(({ language }) => language === 'sh');
const [printed = '', submitted = '', ...others] = page?.text.trim().split('\n') ?? [];

describe('the job script of a profile, in Slurm', () => {
  let host: SshHost;
  let slurm: SlurmCluster;

  beforeAll(async () => {
    await ensurePackages(slurmPackages);
    const profile = {
      ...standardProfile,
      ...{ limits: { cpus: 1, memory: '300M' }, podman: { devices: ['/dev/full'] } },
      mounts: [{ source: '$HOME' }, { source: '/run/project', target: '/project' }],
      batch: { partition: 'debug', time: '2m', gres: 'gpu:1' },
    };
    const users = { [user]: [group] };
    host = await SshHost.start({
      mode: 'forced',
      users,
      sshYml: { rules: [] },
      profiles: { gpu: profile },
    });
    slurm = await SlurmCluster.start(host);
    const print = `cd /run; PATH=${installDirectory}:$PATH; ${printed} && cat job.sh`;
    const rendered = await host.asRoot(['sh', '-c', print]);
    expect([rendered.stderr, others]).toEqual(['', []]);
    await slurm.as(user, ['tee', 'job.sh'], { input: rendered.stdout });
  });
  afterAll(() => slurm.stop());

  /** Submits the script with a command for the container. */
  async function submit(command: string): Promise<string> {
    const argv = ['sbatch', '--parsable', '--output=out', 'job.sh', 'sh', '-c', command];
    return (await slurm.as(user, argv)).stdout.toString().trim();
  }
  async function output(): Promise<string> {
    return (await slurm.as(user, ['cat', 'out'])).stdout.toString();
  }
  /** Waits for a file that the job makes, and removes it. */
  async function waitForFile(name: string): Promise<void> {
    await expect.poll(async () => (await host.asUser(user, ['rm', name])).exitCode).toBe(0);
  }
  async function directories(): Promise<string> {
    const { stdout } = await host.asRoot(['find', '/tmp', '-maxdepth', '1', '-user', user]);
    return stdout.toString();
  }

  it('runs in the image as the user, with groups, home, processors and device', async () => {
    await host.asRoot(['install', '-d', '-m', '0070', '-g', group, '/run/project']);
    const touch = ': </dev/full && touch /project/made up';
    const job = await submit(`id -u; id -g; pwd; nproc; ${touch}; exec sleep 1000`);
    await waitForFile('up');
    const { uid, gid, home } = host.account(user);
    expect(await output()).toBe(`${uid}\n${gid}\n${home}\n1\n`);
    const sleep = (await processesOf(host, user)).find((line) => line.endsWith(' sleep 1000'));
    const { stdout } = await host.asRoot(['cat', `/proc/${parseInt(sleep ?? '', 10)}/cgroup`]);
    expect(stdout.toString()).toMatch(new RegExp(`:freezer:/slurm_\\S+/job_${job}/`));
    const made = await host.asRoot(['stat', '-c', '%U', '/run/project/made']);
    expect(made.stdout.toString()).toBe(`${user}\n`);
    expect(await slurm.field(job, 'TimeLimit')).toBe('00:02:00');
    await slurm.as(user, ['scancel', job]);
    await slurm.waitForState(job, 'CANCELLED');
    await expect.poll(() => processesOf(host, user)).toEqual([]);
    await expect.poll(directories).toBe('');
  });

  it('is submitted by the command of the page', async () => {
    await slurm.as(user, ['tee', 'train.py'], { input: 'print("trained")' });
    const { stdout } = await slurm.as(user, ['sh', '-c', submitted]);
    const job = /^Submitted batch job (\d+)\n$/.exec(stdout.toString())?.[1] ?? '';
    await slurm.waitForState(job, 'COMPLETED');
    expect((await slurm.as(user, ['cat', `slurm-${job}.out`])).stdout.toString()).toBe('trained\n');
  });

  it("has the command's exit code", async () => {
    const job = await submit('echo done; exit 7');
    await slurm.waitForState(job, 'FAILED');
    expect([await output(), await slurm.field(job, 'ExitCode')]).toEqual(['done\n', '7:0']);
    expect([await processesOf(host, user), await directories()]).toEqual([[], '']);
  });

  it('cannot use more memory than its limit', async () => {
    const job = await submit('python3 -c "print(len(bytes(1) * (400 << 20)))"');
    await slurm.waitForState(job, 'OUT_OF_MEMORY');
    expect(await output()).not.toContain(String(400 << 20));
  });

  it('leaves no process when it is killed', async () => {
    const job = await submit('setsid sleep 1000 & touch up; exec sleep 1000');
    await waitForFile('up');
    await slurm.as(user, ['scancel', '--signal=KILL', '--full', job]);
    await slurm.waitForState(job, 'CANCELLED');
    await expect.poll(() => processesOf(host, user)).toEqual([]);
  });
});
