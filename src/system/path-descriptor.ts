import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  type Stats,
} from 'node:fs';
import { dirname } from 'node:path';
import { BerthError } from './errors/berth-error.ts';
import { ifReadable, unlessMissing } from './if-present.ts';

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

/** Number of the mount that a path leads to, as in /proc/self/mountinfo. */
export function mountOf(path: string): string {
  return whileOpen(openSync(path, O_PATH), descriptorFacts).mount;
}

/**
 * Refuses a directory of a user, in one of root, over which another file system than a tmpfs is mounted. Users can mount there, and their
 * file system (FUSE with `allow_other`) may never answer, so root asks it nothing.
 *
 * @param descriptor of the path, O_PATH
 * @throws {BerthError} `directory-unsafe`
 */
export function refuseForeignMount(descriptor: number, path: string): void {
  const { mount } = descriptorFacts(descriptor);
  if (mount === mountOf(dirname(path))) return;
  const mounts = readFileSync('/proc/self/mountinfo', 'latin1');
  if (new RegExp(`^${mount} .*? - tmpfs `, 'm').test(mounts)) return;
  throw unsafeDirectory(path, 'another file system is mounted over it');
}

export function unsafeDirectory(path: string, why: string): BerthError {
  return new BerthError('directory-unsafe', `${path} cannot be used: ${why}`, {
    fields: { file: path },
  });
}

/**
 * lstat(2) of a directory of a user, in one of root.
 *
 * @returns undefined if there is nothing at the path
 * @throws as `refuseForeignMount`; system errors
 */
export function userDirectoryStatus(path: string): Stats | undefined {
  return unlessMissing(() =>
    whileOpen(openSync(path, O_PATH | constants.O_NOFOLLOW), (descriptor) => {
      refuseForeignMount(descriptor, path);
      return fstatSync(descriptor);
    }),
  );
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
