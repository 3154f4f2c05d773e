import { closeSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { ifReadable } from './if-present.ts';

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

/** Closes the descriptor after the work. */
export function whileOpen<Result>(
  descriptor: number,
  work: (descriptor: number) => Result,
): Result {
  try {
    return work(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * What the descriptors of a process lead to, the lowest first, by what the kernel calls it: no file system is asked. None if the process
 * has ended or may not be read.
 */
export function descriptorTargets(pid: number): readonly string[] {
  const directory = `/proc/${pid}/fd`;
  const descriptors = ifReadable(() => readdirSync(directory)) ?? [];
  return descriptors
    .map(Number)
    .sort((a, b) => a - b)
    .flatMap((descriptor) => ifReadable(() => readlinkSync(`${directory}/${descriptor}`)) ?? []);
}
