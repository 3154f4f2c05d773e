import { cgroupLines } from './cgroup.ts';

/** The cgroups that slurmd creates for a job, as root: version 2, and version 1 with the user's UID. */
export function isCgroupOfJob(line: string, uid: number): boolean {
  const [, v2] =
    /^0::\/system\.slice\/(?:[\w.-]+_)?slurmstepd\.scope\/job_(\d+)\//.exec(line) ?? [];
  const [, v1] = /^\d+:[^:]+:\/slurm(?:_[\w.-]+)?\/uid_(\d+)\/job_\d+\//.exec(line) ?? [];
  return v2 !== undefined || v1 === String(uid);
}

/** Whether a process is in a job of Slurm. @param uid whose job it is @returns false for a process that has ended */
export function isInJob(pid: number | 'self', uid: number): boolean {
  return cgroupLines(pid).some((line) => isCgroupOfJob(line, uid));
}
