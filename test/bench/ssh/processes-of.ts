import { readdirSync, readFileSync } from 'node:fs';

/** Local ends of a remote command: our login, or kubectl. */
const relay = /shell\/login|kubectl\0/;

/** Processes of this user whose command line looks so. */
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
 * Watches the relay that starts from now on.
 *
 * @returns When that has ended: its largest resident set, KiB (VmHWM, which only grows: the last one seen).
 */
export function relayPeak(uid: number): () => number {
  const before = new Set(processesOf(uid));
  let peak = 0;
  const timer = setInterval(() => {
    for (const pid of processesOf(uid))
      if (!before.has(pid)) peak = Math.max(peak, kib(read(pid, 'status'), 'VmHWM'));
  }, 100);
  return () => {
    clearInterval(timer);
    return peak;
  };
}

/** Proportional set size, KiB: what is shared counts by its share. */
export function proportionalSize(pid: number): number {
  return kib(read(pid, 'smaps_rollup'), 'Pss');
}

function kib(text: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0);
}

/** Nothing of one that has ended. */
function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return '';
  }
}
