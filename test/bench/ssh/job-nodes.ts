import { readFile } from 'node:fs/promises';
import { ensurePackages } from '../../rig/site/debian-packages.ts';
import { installBerth } from '../../rig/site/portal.ts';
import type { SshHost } from '../../rig/login-node/ssh-host.ts';
import { freePorts } from '../../rig/free-ports.ts';
import { SlurmSite } from '../../rig/slurm/slurm-site.ts';
import { measure, type Command } from '../measure.ts';

const [user, peer] = ['bench-job', 'bench-peer'];

/** Ways from a client to a program in a job, on the same compute node. */
export interface JobNodes {
  readonly site: SlurmSite;
  /** Berth's allocation. */
  readonly berth: (...words: string[]) => Command;
  /** A forced `srun --overlap` on the login node. */
  readonly srun: (...words: string[]) => Command;
  /** A forced `ssh` on the login node, to root's sshd on the compute node with pam_slurm_adopt. */
  readonly hop: (...words: string[]) => Command;
  /** Directly to that sshd, without the login node. */
  readonly direct: (...words: string[]) => Command;
  stop(): Promise<void>;
}

export const jobProfile = {
  ...{ backend: 'slurm', image: 'localhost/berth-site:1', pull: 'never', network: 'host' },
  ...{ lifetime: 'user', shell: '/bin/bash', mounts: [{ source: '$HOME' }], agent: false },
};

/** A login node, a compute node, and a running job for each way. */
export async function openJobs(): Promise<JobNodes> {
  await installBerth();
  await ensurePackages(['libpam-slurm-adopt']);
  const { port } = await freePorts(['port']);
  const site = await SlurmSite.start({
    ...{ mode: 'forced', users: { [user]: [], [peer]: [] } },
    profiles: { base: { ...jobProfile, grace: '1h', limits: { cpus: 1, memory: '1G' } } },
    // The first one that matches counts.
    sshd: `Port ${port}
Match User ${peer} LocalPort ${port}
  ForceCommand /bin/sh /run/forced-srun
Match User ${peer} LocalAddress 127.0.0.1
  ForceCommand /bin/sh /run/forced-ssh
Match User ${peer}
  ForceCommand none`,
  });
  const { login, slurm } = site;
  const [node] = site.nodes;
  if (node === undefined) throw new Error('no compute node');
  const adopt = '1i account required pam_slurm_adopt.so';
  await node.asRoot(['sed', '-i', adopt, '/etc/pam.d/sshd']);
  const job = await slurm.sbatch(peer, '#!/bin/sh\nexec sleep 3600\n', ['--mem=900M']);
  await slurm.waitForState(job, 'RUNNING');
  const key = await readFile(login.key(peer));
  const { home } = login.account(peer);
  const write = (path: string, text: string | Buffer): Promise<unknown> =>
    login.asRoot(['tee', path], { input: text });
  await login.asUser(peer, ['mkdir', '-p', '-m', '0700', '.ssh']);
  await login.asUser(peer, ['sh', '-c', 'umask 077; cat > .ssh/hop'], { input: key });
  const hop = `ssh -F none -i ${home}/.ssh/hop -p ${node.port} ${lax.join(' ')} ${node.address}`;
  await write('/run/forced-ssh', `exec ${hop} "$SSH_ORIGINAL_COMMAND"\n`);
  const srun = `srun --overlap --jobid=${job} --quiet`;
  await write('/run/forced-srun', `exec ${srun} sh -c "$SSH_ORIGINAL_COMMAND"\n`);
  const nodes = {
    site,
    berth: (...words: string[]) => sshCommand(login, user, words),
    srun: (...words: string[]) => sshCommand(login, peer, words, port),
    hop: (...words: string[]) => sshCommand(login, peer, words),
    direct: (...words: string[]) => sshCommand(node, peer, words),
    stop: () => site.stop(),
  };
  for (const way of [nodes.berth, nodes.srun, nodes.hop, nodes.direct])
    await measure(way('test "$(hostname)" = node1'));
  return nodes;
}

const lax = ['BatchMode=yes', 'StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null']
  .concat('LogLevel=ERROR')
  .map((option) => `-o ${option}`);

/** OpenSSH's client, as a process to measure. */
export function sshCommand(
  host: SshHost,
  name: string,
  words: readonly string[],
  port = host.port,
): Command {
  const destination = ['-p', String(port), `${name}@${host.address}`];
  const options = ['-F', 'none', '-i', host.key(name), ...lax.join(' ').split(' ')];
  return {
    file: '/usr/bin/ssh',
    args: [...options, ...destination, ...words],
    env: { PATH: '/usr/bin:/bin', HOME: '/root' },
  };
}
