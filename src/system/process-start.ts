import { readFileSync } from 'node:fs';

/**
 * When a process was started, in clock ticks since boot (proc(5), `stat` field 22): with its PID it is
 * known from any later process of that number.
 *
 * @returns Nothing for a process that is gone.
 */
export function startOf(pid: number): string | undefined {
  const fields = statFields(pid);
  return fields === undefined || isEnded(fields) ? undefined : fields[19];
}

/** The fields of /proc/PID/stat from the third (state) on; nothing for a process that is gone. */
export function statFields(pid: number): readonly string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name in field 2 may hold blanks and brackets, so count from its last one.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

/** A zombie runs no more; its parent only has not looked yet. */
export function isEnded([state]: readonly string[]): boolean {
  return state === 'Z' || state === 'X';
}
