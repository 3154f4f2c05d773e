/** Slurm's configuration files for a test's cluster. */

/** The controllers of cgroup v1 that Slurm uses, and their mounts below `cgroups`. */
export const controllers = ['freezer', 'memory', 'cpuset', 'cpu', 'cpuacct', 'devices'];

/** Where the hosts mount cgroup v1. Their /sys/fs/cgroup is version 2 without controllers, for Podman. */
export const cgroups = '/run/slurm/cgroup';

export interface SlurmConfig {
  /** Directory of state and logs, on all hosts. */
  readonly own: string;
  /** The host of slurmctld, and its address. */
  readonly controller: { readonly name: string; readonly address: string };
  /** Port of slurmctld. */
  readonly slurmctld: number;
  readonly nodes: readonly {
    readonly name: string;
    /** Name and address of its host. */
    readonly host: string;
    readonly address: string;
    /** Port of its slurmd. */
    readonly port: number;
  }[];
  /** Further lines, such as partitions. */
  readonly more?: string;
}

export const cgroupConf = `CgroupPlugin=cgroup/v1
CgroupMountpoint=${cgroups}
ConstrainCores=yes
ConstrainDevices=yes
ConstrainRAMSpace=yes
`;

/** Not a GPU, but a device that only jobs with the resource can open. */
export const gresConf = 'Name=gpu File=/dev/full\n';

export function slurmConf({ own, controller, slurmctld, nodes, more = '' }: SlurmConfig): string {
  return `ClusterName=site
SlurmctldHost=${controller.name}(${controller.address})
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
DefMemPerCPU=1000
GresTypes=gpu
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0
ReturnToService=2
PrivateData=jobs
MpiDefault=none
PrologFlags=Contain
Epilog=/etc/slurm/berth-epilog
${nodes.map(nodeLine).join('\n')}
PartitionName=debug Nodes=ALL Default=YES MaxTime=1-0 State=UP
${more}`;
}

function nodeLine({ name, host, address, port }: SlurmConfig['nodes'][number]): string {
  const place = `NodeHostname=${host} NodeAddr=${address} Port=${port}`;
  return `NodeName=${name} ${place} CPUs=2 RealMemory=2048 Gres=gpu:1 State=UNKNOWN`;
}
