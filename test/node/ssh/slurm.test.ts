import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { join } from 'node:path';
import { processesOf } from '../../rig/login-node/leftovers.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { ensurePackages } from '../../rig/site/debian-packages.ts';
import { SshHost, standardProfile } from '../../rig/login-node/ssh-host.ts';
import {
  otherSlurmPaths,
  slurmClientMounts,
  SlurmCluster,
  slurmPackages,
} from '../../rig/slurm/slurm-cluster.ts';

const user = 'slurm-ann';
const other = 'slurm-ben';
const inJob = 'slurm-cleo';
const eventually = { timeout: 90_000, interval: 500 };

describe('Slurm from inside a session', () => {
  let host: SshHost;
  let slurm: SlurmCluster;

  beforeAll(async () => {
    await ensurePackages(slurmPackages);
    const base = {
      ...standardProfile,
      hostname: 'session',
      // The host's passwd, because the image does not have SlurmUser.
      mounts: [
        { source: '$HOME' },
        { source: '/etc/passwd', read_only: true },
        ...slurmClientMounts,
      ],
    };
    host = await SshHost.start({
      mode: 'forced',
      users: { [user]: [], [other]: [], [inJob]: [] },
      sshYml: {
        rules: [
          { users: [other], profile: 'elsewhere' },
          { users: [inJob], profile: 'job' },
          { profile: 'base' },
        ],
      },
      profiles: {
        ...{ base: { ...base, slurm: {} }, elsewhere: { ...base, slurm: otherSlurmPaths } },
        job: {
          ...{ ...standardProfile, backend: 'slurm', lifetime: 'user', grace: '1h' },
          limits: { cpus: 1, memory: '1G' },
        },
      },
    });
    slurm = await SlurmCluster.start(host);
  });
  afterAll(() => slurm.stop());

  /** Output of a command inside. */
  async function inside(command: string, as = user): Promise<string> {
    const { exitCode, stdout, stderr } = await host.ssh(as, [command]);
    if (exitCode !== 0) throw new Error(`${command}: ${exitCode ?? 'killed'} ${stderr}`);
    return stdout.toString().trim();
  }

  it('shows the nodes', async () => {
    expect(await inside('sinfo --noheader --format="%P %N %T"')).toBe(
      `debug* ${slurm.nodes[0]} idle`,
    );
  });

  it('runs a command on the node, as the user, in the same directory', async () => {
    expect(await inside('hostname; srun hostname')).toBe('session\nlogin1');
    const { home, uid } = host.account(user);
    expect(await inside('srun sh -c "id -u; pwd"')).toBe(`${uid}\n${home}`);
  });

  it('passes input, output, errors and exit code of a command on the node', async () => {
    const command = 'srun --quiet sh -c "cat; echo wrong >&2; exit 7"';
    const { exitCode, stdout, stderr } = await host.ssh(user, [command], { input: 'given\n' });
    expect({ exitCode, stdout: stdout.toString() }, stderr).toEqual({
      ...{ exitCode: 7, stdout: 'given\n' },
    });
    expect(stderr).toContain('wrong\n');
  });

  it('submits a batch job, which continues after the session', async () => {
    const script = '#!/bin/sh\nuntil [ -e go ]; do sleep 0.1; done\nhostname\n';
    const { exitCode, stdout } = await host.ssh(user, ['sbatch --parsable --output=out'], {
      input: script,
    });
    expect(exitCode).toBe(0);
    const job = stdout.toString().trim();
    const queue = 'squeue --noheader --format="%i %u %T"';
    await expect.poll(() => inside(queue), eventually).toBe(`${job} ${user} RUNNING`);
    expect(await inside('touch go')).toBe('');
    await expect.poll(() => inside(queue), eventually).toBe('');
    expect(await inside('cat out')).toBe('login1');
  });

  it('works with other paths of slurm.conf and the socket on the host', async () => {
    const { uid } = host.account(other);
    expect(await inside('srun sh -c "hostname; id -u"', other)).toBe(`login1\n${uid}`);
  });

  it('a login node that is also the compute node does not end what runs in the container of a job', async () => {
    expect(await inside('setsid sleep 777 >/dev/null 2>&1 & echo started', inJob)).toBe('started');
    // What the connection's cleanup does, to its end.
    const reap = [join(installDirectory, 'berth'), 'reap'];
    await expect.poll(async () => (await host.asRoot(reap)).exitCode, eventually).toBe(0);
    expect((await processesOf(host, inJob)).join()).toContain('sleep 777');
    await slurm.as(inJob, ['scancel', '--me']);
    await expect.poll(() => processesOf(host, inJob), eventually).toEqual([]);
  });
});
