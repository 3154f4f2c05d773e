/** Slurm's configuration files for a test's cluster. */

/** The controllers of cgroup v1 that Slurm uses, and their mounts below `cgroups`. */
export const controllers = ['freezer', 'memory', 'cpuset', 'cpu', 'cpuacct', 'devices'];

/** Where the hosts mount cgroup v1. Their /sys/fs/cgroup is version 2 without controllers, for Podman. */
export const cgroups = '/run/slurm/cgroup';

export interface SlurmConfig {
  /** Directory of state and logs, on all hosts. */
  readonly own: string;
  /** Port of slurmctld, which runs on the first node's host. */
  readonly slurmctld: number;
  readonly nodes: readonly {
    readonly name: string;
    /** Name and address of its host. */
    readonly host: string;
    readonly address: string;
    /** Port of its slurmd. */
    readonly port: number;
  }[];
}

export const cgroupConf = `CgroupPlugin=cgroup/v1
CgroupMountpoint=${cgroups}
ConstrainCores=yes
ConstrainDevices=yes
ConstrainRAMSpace=yes
`;

/** Not a GPU, but a device that only jobs with the resource can open. */
export const gresConf = 'Name=gpu File=/dev/full\n';

export function slurmConf({ own, slurmctld, nodes }: SlurmConfig): string {
  const controller = nodes.map(({ host, address }) => `${host}(${address})`)[0];
  return `ClusterName=site
SlurmctldHost=${controller}
SlurmctldPort=${slurmctld}
SlurmUser=slurm
AuthType=auth/munge
StateSaveLocation=${own}/state
SlurmdSpoolDir=${own}/%n
SlurmctldPidFile=${own}/state/slurmctld.pid
SlurmdPidFile=${own}/%n.pid
SlurmctldLogFile=${own}/state/slurmctld.log
SlurmdLogFile=${own}/%n.log
ProctrackType=proctrack/cgroup
TaskPlugin=task/cgroup
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
DefMemPerCPU=128
GresTypes=gpu
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0
ReturnToService=2
MpiDefault=none
PrologFlags=Contain
${nodes.map(nodeLine).join('\n')}
PartitionName=debug Nodes=ALL Default=YES MaxTime=5 State=UP
`;
}

function nodeLine({ name, host, address, port }: SlurmConfig['nodes'][number]): string {
  const place = `NodeHostname=${host} NodeAddr=${address} Port=${port}`;
  return `NodeName=${name} ${place} CPUs=2 RealMemory=2048 Gres=gpu:1 State=UNKNOWN`;
}
