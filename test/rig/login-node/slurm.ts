/** A Slurm cluster with one node on a test's host: munged, slurmctld and slurmd, on loopback ports. */
import { join } from 'node:path';
import { freePorts } from '../site/ports.ts';
import { waitFor } from '../site/wait.ts';
import type { ClientResult } from './run-program.ts';
import type { SshHost } from './ssh-host.ts';

/** Install them before the host starts, which copies the accounts that they create. */
export const slurmPackages = ['slurm-wlm', 'munge'];

const config = '/etc/slurm';
const munge = '/run/munge';

/** Other paths of the same cluster, as at a site that has built Slurm and munge itself. */
export const otherSlurmPaths = { config: '/etc/slurm-of-site', munge: '/run/munge-of-site' };

const libraries = '/usr/lib/x86_64-linux-gnu';

/** Mounts of the host's Slurm commands, libraries and plugins, for an image of the same Debian release. */
export const slurmClientMounts = [
  ...['srun', 'sbatch', 'squeue', 'sinfo'].map((command) => `/usr/bin/${command}`),
  ...[`${libraries}/slurm-wlm`, `${libraries}/libmunge.so.2`],
].map((source) => ({ source, read_only: true }));

/** Starts the daemons in the host's PID namespace; they end with it. */
export async function startSlurm(host: SshHost): Promise<void> {
  const own = join(host.directory, 'slurm');
  const ports = await freePorts(['slurmctld', 'slurmd']);
  const onHost = async (argv: readonly string[], input = ''): Promise<ClientResult> => {
    const result = await host.asRoot(argv, { input });
    if (result.exitCode === 0) return result;
    const logs = await host.asRoot(['sh', '-c', `tail -n 20 ${own}/*.log`]);
    throw new Error(`${argv.join(' ')}: ${result.stderr}\n${logs.stdout.toString()}`);
  };
  const directory = (path: string, user: string, mode = '0755'): Promise<ClientResult> =>
    onHost(['install', '-d', '-o', user, '-g', user, '-m', mode, path]);

  await directory(own, 'root');
  await directory(`${own}/munge`, 'munge', '0700');
  await directory(munge, 'munge');
  await onHost([
    'runuser',
    '-u',
    'munge',
    '--',
    'mungekey',
    '--create',
    `--keyfile=${own}/munge/key`,
  ]);
  await onHost([
    ...['runuser', '-u', 'munge', '--', 'munged', `--key-file=${own}/munge/key`],
    ...[`--log-file=${own}/munge/log`, `--seed-file=${own}/munge/seed`],
    ...[`--pid-file=${munge}/munged.pid`, `--socket=${munge}/munge.socket.2`],
  ]);

  await directory(`${own}/state`, 'slurm');
  await directory(`${own}/spool`, 'root');
  await directory(config, 'root');
  await onHost(['tee', `${config}/slurm.conf`], slurmConf(own, ports));
  await onHost(['tee', `${config}/cgroup.conf`], cgroupConf);
  await onHost(['slurmctld', '-f', `${config}/slurm.conf`]);
  await onHost(['slurmd', '-f', `${config}/slurm.conf`]);
  await waitFor({ what: 'the node to be idle', timeoutMs: 30_000 }, async () => {
    const { stdout } = await onHost(['sinfo', '--noheader', '--format=%T']);
    return stdout.toString().trim() === 'idle' ? true : undefined;
  });

  await onHost(['ln', '-s', munge, otherSlurmPaths.munge]);
  await directory(otherSlurmPaths.config, 'root');
  const socket = `AuthInfo=socket=${otherSlurmPaths.munge}/munge.socket.2\n`;
  await onHost(['tee', `${otherSlurmPaths.config}/slurm.conf`], slurmConf(own, ports) + socket);
}

/** slurmd exits if it cannot detect the cgroup version, although nothing here uses cgroups. */
const cgroupConf = 'CgroupPlugin=cgroup/v1\n';

function slurmConf(own: string, ports: { slurmctld: number; slurmd: number }): string {
  return `ClusterName=site
SlurmctldHost=login1(127.0.0.1)
SlurmctldPort=${ports.slurmctld}
SlurmdPort=${ports.slurmd}
SlurmUser=slurm
AuthType=auth/munge
StateSaveLocation=${own}/state
SlurmdSpoolDir=${own}/spool
SlurmctldPidFile=${own}/state/slurmctld.pid
SlurmdPidFile=${own}/spool/slurmd.pid
SlurmctldLogFile=${own}/state/slurmctld.log
SlurmdLogFile=${own}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SchedulerType=sched/builtin
ReturnToService=2
MpiDefault=none
NodeName=node1 NodeHostname=login1 NodeAddr=127.0.0.1 CPUs=1 State=UNKNOWN
PartitionName=short Nodes=node1 Default=YES MaxTime=5 State=UP
`;
}
