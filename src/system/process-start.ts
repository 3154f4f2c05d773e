import { readFileSync } from 'node:fs';

/**
 * The start time of a process in clock ticks since boot (proc(5), `stat` field 22). PID and start time together identify a
 * process, because PIDs are reused.
 *
 * @returns undefined for a process that has ended
 */
export function processStartTime(pid: number): string | undefined {
  const fields = procStatFields(pid);
  return fields === undefined || isZombie(fields) ? undefined : fields[19];
}

/** `PID.STARTTIME` of this process. */
export function ownProcessId(): string {
  return `${process.pid}.${processStartTime(process.pid) ?? 0}`;
}

/** The fields of /proc/PID/stat from the third (state) on; undefined for a process that has ended. */
export function procStatFields(pid: number): readonly string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name in field 2 may contain spaces and parentheses, so start after the last parenthesis.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

/** Whether it is a zombie: it has ended, but its parent has not waited for it. */
export function isZombie(fields: readonly string[]): boolean {
  const threads = Number(fields[17]);
  return hasEndedThread(fields) && threads <= 1;
}

/**
 * Whether this thread has ended. If it is the first one of a process, others may live on: the process has its PID, but under that
 * PID neither program, environment nor namespaces (proc_pid_task(5)).
 */
export function hasEndedThread([state]: readonly string[]): boolean {
  return state === 'Z' || state === 'X';
}

/** Clock ticks per second in /proc, on all architectures that Linux supports today. */
const ticksPerSecond = 100;

/**
 * When a process started, by the present clock. A process that executes another program keeps it.
 *
 * @returns milliseconds since the epoch; undefined for a process that has ended
 */
export function processStartedAt(pid: number): number | undefined {
  const ticks = processStartTime(pid);
  if (ticks === undefined) return undefined;
  const uptimeMs = Number(readFileSync('/proc/uptime', 'latin1').split(' ')[0]) * 1000;
  return Date.now() - uptimeMs + (Number(ticks) / ticksPerSecond) * 1000;
}
