import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { processesOf } from '../../rig/login-node/leftovers.ts';
import { SshHost } from '../../rig/login-node/ssh-host.ts';
import { ensurePackages } from '../../rig/site/debian-packages.ts';
import { SlurmCluster, slurmPackages } from '../../rig/slurm/slurm-cluster.ts';

const user = 'job-ann';

describe('a Slurm cluster of two nodes', () => {
  let slurm: SlurmCluster;
  let hosts: [SshHost, SshHost];

  beforeAll(async () => {
    await ensurePackages(slurmPackages);
    const options = { mode: 'plain', images: false, users: { [user]: ['job-group'] } } as const;
    const first = await SshHost.start(options);
    const address = '127.0.0.2';
    hosts = [first, await SshHost.start({ ...options, name: 'node2', address, beside: first })];
    slurm = await SlurmCluster.start(...hosts);
  });
  afterAll(() => slurm.stop());

  it('runs a job as the user, with the groups and within the limits that it asked for', async () => {
    const memory =
      '/run/slurm/cgroup/memory$(sed -n s/.*:memory://p /proc/self/cgroup)/memory.stat';
    const commands = [
      ...['id', 'pwd', 'nproc', `sed -n 's/hierarchical_memory_limit //p' ${memory}`],
      '(: </dev/full) 2>/dev/null && echo gpu',
    ];
    const script = `#!/bin/sh\n${commands.join('\n')}\n`;
    const job = await slurm.sbatch(user, script, ['--output=out', '--mem=200M', '--gres=gpu:1']);
    await slurm.waitForState(job, 'COMPLETED');
    const shell = await slurm.as(user, ['sh', '-c', 'id; pwd']);
    const out = await slurm.as(user, ['cat', 'out']);
    expect(out.stdout.toString()).toBe(`${shell.stdout.toString()}1\n${200 * 1024 ** 2}\ngpu\n`);
  });

  it('keeps a device from jobs that did not ask for it', async () => {
    const job = await slurm.sbatch(user, '#!/bin/sh\n: </dev/full\n', ['--output=out']);
    await slurm.waitForState(job, 'FAILED');
    const out = await slurm.as(user, ['cat', 'out']);
    expect(out.stdout.toString()).toContain('Operation not permitted');
  });

  it('reports the exit code of the script', async () => {
    const job = await slurm.sbatch(user, '#!/bin/sh\nexit 7\n');
    await slurm.waitForState(job, 'FAILED');
    expect(await slurm.field(job, 'ExitCode')).toBe('7:0');
  });

  it('ends every process of a cancelled job, also those that left its process group', async () => {
    const script = '#!/bin/sh\nsetsid sleep 1000 &\nexec sleep 1000\n';
    const node = slurm.nodes[1] ?? '';
    const job = await slurm.sbatch(user, script, [`--nodelist=${node}`]);
    await slurm.waitForState(job, 'RUNNING');
    await expect.poll(() => processesOf(hosts[1], user)).toHaveLength(2);
    await slurm.as(user, ['scancel', job]);
    await slurm.waitForState(job, 'CANCELLED');
    await expect.poll(() => processesOf(hosts[1], user)).toEqual([]);
  });
});
