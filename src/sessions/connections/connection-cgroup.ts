import { existsSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { expectErrno } from '../../system/errors/berth-error.ts';
import { cgroupAbove, cgroupOf, cgroupPids, moveToCgroup } from '../../system/cgroup.ts';
import { directoryNames, textIfPresent } from '../../system/if-present.ts';
import { isInJob } from '../../system/job-cgroup.ts';
import { processStatus, statusField } from '../../system/proc-status.ts';
import { isRunning, type ProcessId } from '../../system/processes.ts';
import { ensureRootDirectory } from '../../system/safe-directories.ts';
import { connectionId } from './connection-record.ts';
import { cgroupNotesDir, connectionRecordPath, type SessionContext } from './state-paths.ts';

type Site = Pick<SessionContext, 'run'>;

/**
 * Gives a connection a cgroup and moves sshd's monitor into it, before that starts anything for the user: all processes of the
 * connection are started there, and only root, or the user's own systemd, can move one out. A job of Slurm has its own. Where root
 * cannot make one, as in a container with read-only cgroups, there is none.
 *
 * @throws system errors
 */
export async function enterConnectionCgroup(
  site: Site,
  monitor: ProcessId,
  uid: number,
): Promise<void> {
  const around = isInJob(monitor.pid, uid) ? undefined : cgroupOf(monitor.pid);
  const id = connectionId(monitor);
  // A PAM stack may name the hook twice.
  if (around === undefined || around.endsWith(`/berth-${id}`)) return;
  const directory = `${around}/berth-${id}`;
  const notes = cgroupNotesDir(site, uid);
  ensureRootDirectory(notes);
  // First, so that it is removed even if this process is killed.
  writeFileSync(`${notes}/${id}`, directory);
  try {
    await mkdir(directory, { mode: 0o755 });
  } catch (error) {
    expectErrno(error, 'EROFS', 'EACCES', 'EPERM');
    return;
  }
  if (isRunning(monitor)) await moveToCgroup(directory, monitor.pid);
}

/**
 * Moves this process out of the scope of its user's session, whose user may stop and continue it there (KillSession of logind): between a look
 * at a PID and what is done with it, the PID would become that of another process.
 *
 * @throws system errors
 */
export async function leaveSessionScope(): Promise<void> {
  const [, top] = /^(.*?)\/user\.slice\//.exec(`${cgroupOf(process.pid)}/`) ?? [];
  if (top === undefined) return;
  try {
    // Beside systemd itself, which only root may signal.
    await moveToCgroup(`${top}/init.scope`, process.pid);
  } catch (error) {
    expectErrno(error, 'EROFS', 'EACCES', 'EPERM', 'ENOENT');
  }
}

/** The directory of a connection's cgroup; undefined if it has none. */
export function connectionCgroup(site: Site, uid: number, id: string): string | undefined {
  const directory = textIfPresent(`${cgroupNotesDir(site, uid)}/${id}`);
  return existsSync(directory) ? directory : undefined;
}

/**
 * Moves sshd's monitor, and this process with what keeps its turn (close-queue.sh), out of the connection's cgroup, which is about to be
 * frozen. pam_exec(8) gives them a session of their own.
 *
 * @throws system errors
 */
export async function leaveConnectionCgroup(
  site: Site,
  monitor: ProcessId,
  uid: number,
): Promise<void> {
  const directory = connectionCgroup(site, uid, connectionId(monitor));
  if (directory === undefined) return;
  // Of `status`, for which nobody has to wait (`pidsByUid`).
  const sessionOf = (pid: number): number =>
    Number.parseInt(statusField(processStatus(pid) ?? '', 'NSsid') ?? '');
  const own = sessionOf(process.pid);
  const theirs = cgroupPids(directory)?.filter((pid) => sessionOf(pid) === own) ?? [];
  for (const pid of [...theirs, monitor.pid])
    if (cgroupOf(pid) === directory) await moveToCgroup(cgroupAbove(directory), pid);
}

/**
 * Removes the cgroups of connections that are not open. One stays as long as a process is in it, such as that of a container
 * that a connection started and others use.
 */
export function removeConnectionCgroups(site: Site, uid: number): void {
  const notes = cgroupNotesDir(site, uid);
  for (const id of directoryNames(notes)) {
    if (existsSync(connectionRecordPath(site, uid, id))) continue;
    const directory = connectionCgroup(site, uid, id);
    try {
      if (directory !== undefined) rmdirSync(directory);
      rmSync(`${notes}/${id}`, { force: true });
    } catch (error) {
      expectErrno(error, 'EBUSY');
    }
  }
}
