import { readFileSync } from 'node:fs';
import type { Profile, ProfileLimits } from '../../../config/schema/profile/profile.ts';
import { isWithin } from '../../../config/schema/profile/mount-path.ts';
import { BerthError, expectErrno } from '../../../system/errors/berth-error.ts';

/** A line of /proc/PID/mountinfo, proc(5). */
interface Mount {
  /** `MAJOR:MINOR` of the file system, and the directory in it that is mounted at `at`. */
  readonly device: string;
  readonly root: string;
  readonly at: string;
}

/** A path, identified by file system instead of by name. */
export interface MountOrigin {
  readonly device: string;
  readonly path: string;
}

/** The file system and directory of each checked path. Call it before podman is run. */
export function mountOrigins(
  checked: ReadonlyMap<string, string>,
  mountinfo = readMounts('self'),
): ReadonlyMap<string, MountOrigin> {
  return new Map(
    [...checked].flatMap(([target, path]) => {
      const mount = mountAround(path, mountinfo);
      if (mount === undefined) return [];
      const below = mount.at === '/' ? path : path.slice(mount.at.length);
      return [[target, { device: mount.device, path: joined(mount.root, below) }]];
    }),
  );
}

/**
 * Checks that a container has mounted the sources that were checked, before a session joins it. Between the check and
 * the mount a user can change a symbolic link in the path of a source. An open directory cannot be passed instead of
 * a path: rootless podman has its own mount namespace and cannot bind-mount a directory that was opened outside.
 *
 * @param pid PID of the container's first process.
 * @throws {BerthError} `session-mount-changed`
 */
export function assertMounted(
  pid: number,
  origins: ReadonlyMap<string, MountOrigin>,
  { name }: Pick<Profile, 'name'>,
  mountinfo = readMounts(String(pid)),
): void {
  const claimed = new Set<Mount>();
  for (const [target, origin] of origins) {
    const is = ({ device, root }: Mount): boolean =>
      device === origin.device && root === origin.path;
    const there = mountinfo.filter(({ at }) => at === target);
    // If the image has a symbolic link in the path of the target, the mount has another path.
    const found = (there.length > 0 ? there.slice(-1) : mountinfo).find(
      (mount) => is(mount) && !claimed.has(mount),
    );
    if (found === undefined)
      throw new BerthError(
        'session-mount-changed',
        `the directory for ${target} (profile ${name}) was replaced while your session started, so the session was stopped`,
        { forUser: true, fields: { file: target } },
      );
    claimed.add(found);
  }
}

function readMounts(pid: string): readonly Mount[] {
  return parseMountinfo(readFileSync(`/proc/${pid}/mountinfo`, 'utf8'));
}

export function parseMountinfo(text: string): readonly Mount[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [, , device = '', root = '', at = ''] = line.split(' ');
      return { device, root: unescaped(root), at: unescaped(at) };
    });
}

/** Decodes the octal escapes of blanks, line feeds and backslashes. */
function unescaped(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}

/** The last mount at the longest path that contains this one. */
function mountAround(path: string, mounts: readonly Mount[]): Mount | undefined {
  let around: Mount | undefined;
  for (const mount of mounts)
    if (isWithin(path, mount.at) && mount.at.length >= (around?.at.length ?? 0)) around = mount;
  return around;
}

function joined(root: string, below: string): string {
  const path = `${root}/${below}`.replace(/\/+/g, '/');
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

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
  const cgroups = readFileSync(`/proc/${pid}/cgroup`, 'utf8').split('\n');
  const path = cgroups.find((line) => line.startsWith('0::/'))?.slice('0::'.length) ?? '/';
  for (const { file, most } of wanted) {
    if (tightest(path, file) <= most * 1.01) continue;
    throw new BerthError(
      'cgroup-not-delegated',
      'podman could not set the CPU, memory or process limits of your session',
      {
        fields: { profile: name, file, cgroup: path },
      },
    );
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
    expectErrno(error);
    return Infinity;
  }
}
