import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { expectErrno } from './errors/berth-error.ts';
import { unlessMissing } from './if-present.ts';
import { startProgram } from './run-program.ts';

/**
 * Control groups of version 2 (Linux, Documentation/admin-guide/cgroup-v2.rst). Their core files, such as `cgroup.freeze` (since
 * Linux 5.2), need no controller, and a hybrid host has them, too.
 */

/** Where systemd mounts version 2; the second on hybrid hosts. */
const mounts = ['/sys/fs/cgroup', '/sys/fs/cgroup/unified'];

/** How long processes may take to freeze; those that hang in the kernel never do. Milliseconds. */
const freezeMs = 1_000;

/** How long processes are frozen at most, even if this process hangs. Seconds. */
const mostFrozenSeconds = 10;

/** The lines of /proc/PID/cgroup; [] for a process that has ended. */
export function cgroupLines(pid: number | 'self'): readonly string[] {
  return textOf(`/proc/${pid}/cgroup`).split('\n');
}

/** The directory of a process's cgroup. @returns undefined without version 2, or if the process has ended */
export function cgroupOf(pid: number): string | undefined {
  const path = cgroupLines(pid)
    .find((line) => line.startsWith('0::/'))
    ?.slice('0::'.length);
  // In another cgroup namespace.
  if (path === undefined || path.startsWith('/..')) return undefined;
  const mount = mounts.find((one) => existsSync(`${one}${path}/cgroup.procs`));
  return mount === undefined ? undefined : `${mount}${path === '/' ? '' : path}`;
}

/**
 * The topmost cgroup that a user owns, of a directory and those above it. The user can move processes between the cgroups below
 * it, but not out of it, and cannot thaw it: its `cgroup.freeze` is root's ("Delegation Containment").
 */
export function delegatedCgroup(directory: string, uid: number): string | undefined {
  let topmost: string | undefined;
  for (let at = directory; !mounts.includes(at) && at !== ''; at = cgroupAbove(at))
    if (statSync(at, { throwIfNoEntry: false })?.uid === uid) topmost = at;
  return topmost;
}

export function cgroupAbove(directory: string): string {
  return directory.slice(0, directory.lastIndexOf('/'));
}

/** A user can make any number of cgroups below one that is theirs; of no more than this many are the processes listed. */
const mostCgroups = 1_000;

/**
 * PIDs of the processes in a cgroup and below it. It does not miss processes that fork a successor and exit, as a look at /proc
 * does: the kernel appends a new process to the list that is read.
 *
 * @returns undefined if there are too many cgroups
 */
export function cgroupPids(directory: string): readonly number[] | undefined {
  const directories = [directory];
  let pids = '';
  for (const one of directories) {
    // The processes of a threaded cgroup are listed by its domain above.
    pids += textOf(`${one}/cgroup.procs`);
    for (const below of cgroupsIn(one)) directories.push(below);
    if (directories.length > mostCgroups) return undefined;
  }
  return pids.split('\n').filter(Boolean).map(Number);
}

function cgroupsIn(directory: string): readonly string[] {
  const entries = unlessMissing(() => readdirSync(directory, { withFileTypes: true })) ?? [];
  return entries.filter((one) => one.isDirectory()).map(({ name }) => `${directory}/${name}`);
}

/** Moves a process. The kernel takes some milliseconds for it. @throws system errors */
export async function moveToCgroup(directory: string, pid: number): Promise<void> {
  await writeFile(`${directory}/cgroup.procs`, String(pid));
}

/** Whether it can be frozen: the root of the hierarchy and a kernel before Linux 5.2 cannot. */
export function canFreeze(directory: string): boolean {
  return existsSync(`${directory}/cgroup.freeze`);
}

/** Whether a process that was killed has left it frozen. */
export function isFrozen(directory: string): boolean {
  return textOf(`${directory}/cgroup.freeze`).startsWith('1');
}

/**
 * Calls `work` while all processes in a cgroup and below it are frozen, as far as they can be within a second. A frozen process
 * can be killed. They are thawed afterwards, also if this process is killed or hangs.
 *
 * @throws system errors
 */
export async function whileFrozen<Result>(
  directory: string,
  work: () => Promise<Result> | Result,
): Promise<Result> {
  const file = `${directory}/cgroup.freeze`;
  const thaw = `timeout ${mostFrozenSeconds} cat; echo 0 >"$0"`;
  const keeper = startProgram('/bin/sh', ['-c', thaw, file], {
    detached: true,
    env: { PATH: '/usr/bin:/bin' },
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  keeper.on('error', () => undefined);
  try {
    await writeFile(file, '1');
    const end = performance.now() + freezeMs;
    const isStopped = (): boolean => textOf(`${directory}/cgroup.events`).includes('frozen 1');
    while (!isStopped() && performance.now() < end) await sleep(1);
    return await work();
  } finally {
    await writeFile(file, '0');
    keeper.stdin.destroy();
    keeper.unref();
  }
}

/** A file of the kernel; '' if what it describes is gone, or a threaded cgroup has none. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch (error) {
    expectErrno(error, 'ENOENT', 'ENODEV', 'ESRCH', 'EOPNOTSUPP');
    return '';
  }
}
