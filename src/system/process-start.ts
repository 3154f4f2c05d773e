import { readFileSync } from 'node:fs';

/**
 * When a process was started, in clock ticks since boot (proc(5), `stat` field 22): with its PID it is
 * known from any later process of that number.
 *
 * @returns Nothing for a process that is gone.
 */
export function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in field 2 may hold blanks and brackets, so count from its last one.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // A zombie runs no more; its parent only has not looked yet.
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
  } catch {
    return undefined;
  }
}
