import {
  closeSync,
  constants,
  fstatSync,
  opendirSync,
  openSync,
  readSync,
  type Stats,
  unlinkSync,
} from 'node:fs';
import { type FileHandle, mkdir } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { BerthError, expectErrno, isErrno } from './errors/berth-error.ts';
import { escapeControl } from '../log.ts';
import { makeIfMissing, unlessMissing } from './if-present.ts';
import { descriptorFacts, O_PATH, refuseForeignMount, whileOpen } from './path-descriptor.ts';

/** Requirements that are checked before a file is read. */
export interface FileRequirements {
  /** UID that must own it. */
  readonly uid: number;
  /** Longer files are refused. In bytes. */
  readonly maximumBytes: number;
  /** The file contains secrets: it is refused if group or others have any permission. */
  readonly secret?: boolean;
}

/** Errors of the disk or the host, which may be temporary. A user can provoke any other error. */
export const diskErrors = ['EIO', 'ESTALE', 'ETIMEDOUT', 'EMFILE', 'ENFILE', 'ENOMEM'] as const;

/**
 * Reads a file below a directory that a user can write, with limited time and memory: a FIFO, device, socket, directory or
 * symlink is refused without blocking, and of a file that grows only the initial length is read.
 *
 * Parent directories may be symlinks of the user. The owner is checked on the open file, so they cannot lead to another
 * user's file. Root should still read as the user (`asUser`), for file systems that do not let root in.
 *
 * @returns undefined if there is no such file
 * @throws {BerthError} `user-file-unsafe` (owner, mode, no regular file), `user-file-too-large`,
 *   `user-file-unreadable`; `private-file-…` for a secret.
 */
export async function readUserFile(
  path: string,
  demands: FileRequirements,
): Promise<Buffer | undefined> {
  const { open } = await import('node:fs/promises');
  let file: FileHandle;
  try {
    file = await open(path, openFlags);
  } catch (cause) {
    notOpened(path, demands, cause);
    return undefined;
  }
  try {
    const status = await file.stat();
    assertDemands(path, status, demands);
    return await readAtMost(file, status.size);
  } finally {
    await file.close();
  }
}

/** As `readUserFile`, synchronously: during a login, asynchronous calls would take longer than the disk access. */
export function readUserFileSync(
  path: string,
  demands: FileRequirements,
  flags = openFlags,
): Buffer | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(path, flags);
  } catch (cause) {
    notOpened(path, demands, cause);
    return undefined;
  }
  return whileOpen(descriptor, () => {
    const status = fstatSync(descriptor);
    assertDemands(path, status, demands);
    return readAtMostSync(descriptor, status.size);
  });
}

/** As `readAtMost`. */
export function readAtMostSync(descriptor: number, bytes: number): Buffer {
  const buffer = Buffer.alloc(bytes);
  let length = 0;
  for (let read = -1; read !== 0 && length < bytes; length += read)
    read = readSync(descriptor, buffer, length, bytes - length, null);
  return buffer.subarray(0, length);
}

/**
 * As `readUserFileSync`, for root: no name may be a symbolic link, which could lead through /proc/PID/root into a mount namespace of
 * the user, and no file system may be mounted below the directory. One of the user (FUSE, also below an overlay) can return any
 * error to root, or never answer.
 *
 * @param directory of the user, in one of root
 * @param names of directories below `directory`, then of the file
 * @returns undefined if there is no such file
 * @throws {BerthError} as `readUserFile`, `directory-unsafe`
 */
export function readOnMount(
  directory: string,
  names: readonly string[],
  demands: FileRequirements,
): Buffer | undefined {
  return onMount(directory, names, (path) =>
    readUserFileSync(path, demands, openFlags & ~constants.O_NOFOLLOW),
  );
}

/** Removes files of a directory, as `readOnMount` reads. Errors are ignored: what stays harms only that user. */
export function unlinkOnMount(
  directory: string,
  names: readonly string[],
  files: readonly string[],
): void {
  ifUsable(() =>
    onMount(directory, names, (path) => {
      for (const file of files) unlinkQuietly(`${path}/${file}`);
    }),
  );
}

/** Whether there is something at a path, by the rules of `readOnMount`. @throws as `readOnMount` */
export function existsOnMount(directory: string, names: readonly string[]): boolean {
  return onMount(directory, names, () => true) === true;
}

/** For what harms only the user who put it there. @returns undefined after an error of the file system or a file that is refused */
export function ifUsable<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (error instanceof BerthError || isErrno(error)) return undefined;
    throw error;
  }
}

/** As `firstDirectoryNames`, with the rules of `readOnMount`. @throws {BerthError} `user-file-unreadable`; system errors */
export function namesOnMount(
  directory: string,
  names: readonly string[],
  most: number,
): readonly string[] {
  const found = onMount(directory, names, (path) => {
    const files: string[] = [];
    const opened = opendirSync(path);
    for (let entry = opened.readSync(); entry !== null; entry = opened.readSync()) {
      if (files.push(entry.name) === most) break;
    }
    opened.closeSync();
    return files;
  });
  return found ?? [];
}

function unlinkQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    expectErrno(error);
  }
}

/** @param work is called with a path of /proc/self/fd that leads to what the names lead to */
function onMount<Result>(
  directory: string,
  names: readonly string[],
  work: (path: string) => Result,
): Result | undefined {
  return unlessMissing(() =>
    whileOpen(openOnMount(directory, names), (descriptor) => work(`/proc/self/fd/${descriptor}`)),
  );
}

/**
 * Makes directories of the user, mode 0700, where they are missing, with the rules of `readOnMount`, and works in the last one.
 *
 * @param work is called with the path of the directory in /proc/self/fd, which leads there until the work ends
 * @throws {BerthError} `user-file-unreadable`; system errors
 */
export async function inDirectoryOnMount(
  directory: string,
  names: readonly string[],
  work: (path: string) => Promise<unknown>,
): Promise<void> {
  const descriptor = openOnMount(directory, names, (path) => makeIfMissing(path, 0o700));
  try {
    await work(`/proc/self/fd/${descriptor}`);
  } finally {
    closeSync(descriptor);
  }
}

/** @param before is called with the path of each name before it is opened */
function openOnMount(
  directory: string,
  names: readonly string[],
  before: (path: string) => void = () => undefined,
): number {
  let descriptor = openSync(directory, pathOnly);
  try {
    refuseForeignMount(descriptor, directory);
    const { mount } = descriptorFacts(descriptor);
    for (const name of names) {
      const path = `/proc/self/fd/${descriptor}/${name}`;
      before(path);
      const below = openSync(path, pathOnly);
      closeSync(descriptor);
      descriptor = below;
      if (descriptorFacts(descriptor).mount !== mount)
        throw new BerthError(
          'user-file-unreadable',
          `${[directory, ...names].join('/')} is on another mount`,
        );
    }
    return descriptor;
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

const pathOnly = O_PATH | constants.O_NOFOLLOW;

/** Reads at most this many bytes of an open file. FileHandle.readFile would follow a file that grows. */
export async function readAtMost(file: FileHandle, bytes: number): Promise<Buffer> {
  const buffer = Buffer.alloc(bytes);
  let length = 0;
  for (let read = -1; read !== 0 && length < bytes; length += read)
    ({ bytesRead: read } = await file.read(buffer, length, bytes - length, null));
  return buffer.subarray(0, length);
}

/**
 * Names in a directory that a user can fill: at most `most`, in no particular order; none if there is no directory at the
 * path.
 */
export async function firstDirectoryNames(
  directory: string,
  most: number,
): Promise<readonly string[]> {
  const { opendir } = await import('node:fs/promises');
  const names: string[] = [];
  try {
    for await (const { name } of await opendir(directory)) {
      if (names.length === most) break;
      names.push(name);
    }
  } catch (error) {
    expectErrno(error);
  }
  return names;
}

/** O_NOFOLLOW, because a symlink could lead to another file; O_NONBLOCK, because a FIFO must not block. */
const openFlags =
  constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

function notOpened(path: string, demands: FileRequirements, cause: unknown): void {
  if (isErrno(cause, 'ENOENT')) return;
  const code = isErrno(cause) ? String(cause.code) : String(cause);
  const why = code === 'ELOOP' ? 'it is a symlink' : code;
  throw unusable(path, demands, 'unreadable', why, cause);
}

function assertDemands(path: string, status: Stats, demands: FileRequirements): void {
  const { uid, maximumBytes, secret = false } = demands;
  const unsafe = (why: string): BerthError => unusable(path, demands, 'unsafe', why);
  if (!status.isFile()) throw unsafe('it is not a regular file');
  if (status.uid !== uid) throw unsafe(`its owner is UID ${status.uid}`);
  if (secret && (status.mode & 0o077) !== 0)
    throw unsafe(`its mode is ${(status.mode & 0o777).toString(8)}`);
  if (status.size > maximumBytes)
    throw unusable(path, demands, 'too-large', `${status.size} bytes`);
}

const codes = {
  unsafe: { plain: 'user-file-unsafe', secret: 'private-file-unsafe' },
  'too-large': { plain: 'user-file-too-large', secret: 'private-file-too-large' },
  unreadable: { plain: 'user-file-unreadable', secret: 'private-file-unreadable' },
} as const;

function unusable(
  path: string,
  { secret = false }: FileRequirements,
  kind: keyof typeof codes,
  why: string,
  cause?: unknown,
): BerthError {
  return new BerthError(
    codes[kind][secret ? 'secret' : 'plain'],
    `${escapeControl(path)} cannot be used: ${why}`,
    {
      fields: { file: path },
      cause,
    },
  );
}

/**
 * Creates a directory below a home, and missing parents, with mode 0700. Call it as the user. Node's `recursive` is not
 * used: on a read-only file system it reports ENOENT, and it would create the home itself.
 *
 * @throws errors of mkdir(2)
 */
export async function makeDirectoryInHome(home: string, directory: string): Promise<void> {
  try {
    await makeOne(directory);
  } catch (error) {
    if (!isErrno(error, 'ENOENT') || dirname(directory) === resolve(home) || directory === '/')
      throw error;
    await makeDirectoryInHome(home, dirname(directory));
    await makeOne(directory);
  }
}

/** Another hook may create it at the same moment. */
async function makeOne(directory: string): Promise<void> {
  try {
    await mkdir(directory, { mode: 0o700 });
  } catch (error) {
    expectErrno(error, 'EEXIST');
  }
}
