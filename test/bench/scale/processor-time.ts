import { readFileSync } from 'node:fs';
import { procStatFields } from '../../../src/system/process-start.ts';

/** User and system time of a process that runs. Seconds. */
export function processorSeconds(pid: number): number {
  return secondsAt(pid, 11);
}

/** User and system time of those children of this process that have ended. Seconds. */
export function childrenSeconds(): number {
  return secondsAt(process.pid, 13);
}

/** The processor time of all processes of this machine since its boot. Seconds. */
export function machineSeconds(): number {
  const [, user = 0, nice = 0, system = 0] = readFileSync('/proc/stat', 'latin1')
    .split(/\s+/, 4)
    .map(Number);
  return (user + nice + system) / 100;
}

/** Two fields of proc(5), in ticks of 10 ms: utime and stime are 14 and 15, cutime and cstime 16 and 17. */
function secondsAt(pid: number, index: number): number {
  const fields = procStatFields(pid);
  if (fields === undefined) throw new Error(`process ${pid} has ended`);
  return (Number(fields[index]) + Number(fields[index + 1])) / 100;
}
