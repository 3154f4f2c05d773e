import { readFileSync } from 'node:fs';
import { procStatFields } from './process-start.ts';
import { statusField } from './proc-status.ts';

/** What a running process uses. */
export interface ProcessUsage {
  /** CPU time so far, without that of children. */
  readonly cpuSeconds: number;
  /** Resident memory, including what it shares with others. */
  readonly memoryBytes: number;
  /** N of its controlling terminal /dev/pts/N, in whichever instance of devpts; undefined without one. */
  readonly pty: number | undefined;
}

/** sysconf(_SC_CLK_TCK), which is 100 in all of Linux's interfaces to programs. */
const ticksPerSecond = 100;

/** Majors of the Unix 98 pseudo-terminals. */
const [firstMajor, lastMajor] = [136, 143];

/** @returns undefined for a process that has ended */
export function processUsage(pid: number): ProcessUsage | undefined {
  const fields = procStatFields(pid);
  if (fields === undefined) return undefined;
  return {
    cpuSeconds: (Number(fields[11]) + Number(fields[12])) / ticksPerSecond,
    memoryBytes: residentBytes(pid),
    pty: ptyNumber(Number(fields[4])),
  };
}

function residentBytes(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    // "VmRSS:     1234 kB"
    return Number.parseInt(statusField(status, 'VmRSS') ?? '0') * 1024;
  } catch {
    return 0;
  }
}

/**
 * N of /dev/pts/N for its device number, as proc(5) and stat(2) give it: bits 31 to 20 and 7 to 0 are the minor, 15 to
 * 8 the major. @returns undefined for another device
 */
export function ptyNumber(device: number): number | undefined {
  const major = (device >> 8) & 0xfff;
  const minor = (device & 0xff) | ((device >> 12) & 0xfff00);
  if (major < firstMajor || major > lastMajor) return undefined;
  return (major - firstMajor) * 256 + minor;
}
