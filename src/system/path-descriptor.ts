import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Of open(2), missing in Node: the file system is not asked, and the caller needs no right to read. */
export const O_PATH = 0o10_000_000;

/** What the kernel itself knows of an open file, without a question to its file system: proc_pid_fdinfo(5). */
export function descriptorFacts(descriptor: number): {
  /** Number of its mount, as in /proc/PID/mountinfo; digits. */
  readonly mount: string;
  /** Since Linux 5.14; digits. */
  readonly inode: string | undefined;
} {
  const text = readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1');
  const field = (name: string): string | undefined =>
    new RegExp(`^${name}:\\s*(\\d+)$`, 'm').exec(text)?.[1];
  return { mount: field('mnt_id') ?? '', inode: field('ino') };
}

/**
 * What the descriptors of a process lead to, the lowest first, by what the kernel calls it: no file system is asked. None if the process
 * has ended or may not be read.
 */
export function descriptorTargets(pid: number): readonly string[] {
  const directory = `/proc/${pid}/fd`;
  try {
    return readdirSync(directory)
      .map(Number)
      .sort((a, b) => a - b)
      .flatMap((descriptor) => targetOf(`${directory}/${descriptor}`) ?? []);
  } catch {
    return [];
  }
}

/** Undefined if it has just been closed. */
function targetOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
