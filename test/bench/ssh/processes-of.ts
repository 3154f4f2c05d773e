import { readdirSync, readFileSync } from 'node:fs';

/** Programs at the local end of a remote command: Berth's login program, or kubectl. */
const relay = /shell\/login|kubectl\0/;

/** Processes of this user with such a command line. */
export function processesOf(uid: number, command = relay): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      const status = read(pid, 'status');
      return (
        new RegExp(`^Uid:\\t${uid}\\t`, 'm').test(status) && command.test(read(pid, 'cmdline'))
      );
    });
}

/**
 * Watches the next relay that starts.
 *
 * @returns When it has ended: its largest resident set (the last VmHWM that was read). KiB.
 */
export function relayPeak(uid: number): () => number {
  const before = new Set(processesOf(uid));
  let peak = 0;
  const timer = setInterval(() => {
    for (const pid of processesOf(uid))
      if (!before.has(pid)) peak = Math.max(peak, peakResident(pid));
  }, 100);
  return () => {
    clearInterval(timer);
    return peak;
  };
}

/** The largest resident set so far. KiB. */
export function peakResident(pid: number): number {
  return kib(read(pid, 'status'), 'VmHWM');
}

/** Proportional set size, which counts shared memory in parts. KiB. */
export function proportionalSize(pid: number): number {
  return kib(read(pid, 'smaps_rollup'), 'Pss');
}

/** What a process's proportional set size is made of. KiB. */
export interface MemoryParts {
  readonly all: number;
  /** Heaps and stacks, of this process alone. */
  readonly anonymous: number;
  /** Pages of files, such as the executable's: each is counted by the share of one process. */
  readonly files: number;
}

export function memoryParts(pid: number): MemoryParts {
  const text = read(pid, 'smaps_rollup');
  const [all, anonymous, files] = ['Pss', 'Pss_Anon', 'Pss_File'].map((name) => kib(text, name));
  return { all: all ?? 0, anonymous: anonymous ?? 0, files: files ?? 0 };
}

function kib(text: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0);
}

/** undefined if the process has ended. */
function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return '';
  }
}
