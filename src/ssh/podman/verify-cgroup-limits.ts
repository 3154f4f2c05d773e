import { readFileSync } from 'node:fs';
import type { Profile, ProfileLimits } from '../../config/profile/profile.ts';
import { BerthError, isErrno } from '../../errors.ts';

/**
 * Checks in the kernel that the limits are set: a user's podman silently drops limits that its cgroup manager
 * cannot set. A process is limited by the tightest of its cgroups (cgroups(7)).
 *
 * @param pid PID of the container's first process.
 * @throws {BerthError} `cgroup-not-delegated`
 */
export function assertCgroupLimits(pid: number, { name, limits }: Profile): void {
  const wanted = wantedOf(limits);
  if (wanted.length === 0) return;
  const path = /^0::(\/.*)$/m.exec(readFileSync(`/proc/${pid}/cgroup`, 'utf8'))?.[1] ?? '/';
  for (const { file, most } of wanted) {
    if (tightest(path, file) <= most * 1.01) continue;
    throw new BerthError('the limits of this session cannot be set on this machine', {
      code: 'cgroup-not-delegated',
      hint: 'Delegate the controllers to user@.service (`Delegate=cpu cpuset io memory pids`, see `berth explain cgroup-not-delegated`), or remove `limits` from the profile.',
      fields: { profile: name, file, cgroup: path },
    });
  }
}

function wantedOf({ cpus, memory, pids }: ProfileLimits): { file: string; most: number }[] {
  return [
    ...(cpus === undefined ? [] : [{ file: 'cpu.max', most: cpus }]),
    ...(memory === undefined ? [] : [{ file: 'memory.max', most: memory }]),
    ...(pids === undefined ? [] : [{ file: 'pids.max', most: pids }]),
  ];
}

function tightest(path: string, file: string): number {
  let least = Infinity;
  for (let cgroup = path; cgroup !== ''; cgroup = cgroup.slice(0, cgroup.lastIndexOf('/')))
    least = Math.min(least, limitOf(`/sys/fs/cgroup${cgroup}/${file}`));
  return least;
}

/** The value is `max`, a number, or for CPU time a quota and its period in microseconds. */
function limitOf(file: string): number {
  try {
    const [limit = '', period = '1'] = readFileSync(file, 'utf8').trim().split(' ');
    return limit === 'max' ? Infinity : Number(limit) / Number(period);
  } catch (error) {
    if (isErrno(error)) return Infinity;
    throw error;
  }
}
