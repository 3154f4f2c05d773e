import { BerthError } from '../../system/errors/berth-error.ts';
import type { SignalTarget } from '../../system/end-processes.ts';
import { processStartTime } from '../../system/process-start.ts';
import {
  executableId,
  executablePath,
  hasInitialVariable,
  processFacts,
  type ProcessFacts,
  type ProcessId,
} from '../../system/processes.ts';

/** `sshd`, `sshd-session`, or another build's: `gsisshd`, `sshd.pam`. The file may have been replaced by an upgrade. */
const sshdPath = /sshd[^/]*$/;

/**
 * The process that serves a connection, if it still runs: a process of root's, and sshd's or that of `berth doctor
 * --start-session`, which takes sshd's part. So a connection is never one of systemd, or of another process that became the
 * parent of a hook whose sshd was killed (PR_SET_CHILD_SUBREAPER).
 */
export function runningMonitor({ pid, start }: ProcessId): SignalTarget | undefined {
  // The PID may be a user's process by now, which may keep whoever looks at it waiting.
  const facts = pid > 1 ? processFacts(pid, (uid) => uid === 0) : undefined;
  if (facts?.start !== start) return undefined;
  const isSshd = sshdPath.test(executablePath(pid) ?? '');
  return isSshd || executableId(pid) === executableId(process.pid) ? facts : undefined;
}

/**
 * The monitor that runs this hook.
 *
 * @param parent PID of the parent now: it changes when sshd is killed
 * @throws {BerthError} `pam-session-orphaned`
 */
export function callingMonitor(parent: () => number): ProcessId {
  const pid = parent();
  const start = processStartTime(pid);
  const monitor = start === undefined ? undefined : runningMonitor({ pid, start });
  // If it still is the parent, what was read is of the process that started this one, and not of a later one.
  if (monitor !== undefined && parent() === pid) return monitor;
  const path = executablePath(pid);
  throw new BerthError(
    'pam-session-orphaned',
    `the connection was not recorded, because pam-session was not started by a running sshd: its parent is process ${pid}${path === undefined ? '' : ` (${path})`}`,
  );
}

/** Whether it is PAM's close of the connection whose monitor started it. */
export function isPamClose({ pid, uid }: Pick<ProcessFacts, 'pid' | 'uid'>): boolean {
  return uid === 0 && hasInitialVariable(pid, 'PAM_TYPE=close_session');
}
