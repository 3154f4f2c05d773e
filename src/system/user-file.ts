import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { BerthError, isErrno } from '../errors.ts';
import { escapeControl } from '../log.ts';

/** What must be true of a file before a byte of it is read. */
export interface FileDemands {
  /** Who must own it. */
  readonly uid: number;
  /** A longer one is refused. Bytes. */
  readonly maximumBytes: number;
  /** It holds secrets: one that group or others could use is refused, too. */
  readonly secret?: boolean;
}

/** What may be over the next time, and says nothing of what is in the file; any other error a user can provoke. */
export const diskErrors = ['EIO', 'ESTALE', 'ETIMEDOUT', 'EMFILE', 'ENFILE', 'ENOMEM'] as const;

/**
 * Reads a file below a directory that a user can write. Whatever stands in its place costs no time and
 * no more memory than was said: a FIFO, a device, a socket, a directory or a symlink is refused without
 * a wait, and of a file that grows meanwhile only the length that it had is read.
 *
 * Directories on the way may be symlinks of the user's: the owner is looked at on the open file, so
 * that they lead to no file of another's. Root reads as the user all the same (`asUser`), for file
 * systems where root may not.
 *
 * @returns Nothing where there is no such file.
 * @throws {BerthError} `user-file-unsafe` (owner, mode, no regular file), `user-file-too-large`,
 *   `user-file-unreadable`; `private-file-…` for a secret.
 */
export async function readUserFile(
  path: string,
  demands: FileDemands,
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

/** The same on a path where waiting for the disk costs less than the event loop: the login's. */
export function readUserFileSync(path: string, demands: FileDemands): Buffer | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(path, openFlags);
  } catch (cause) {
    notOpened(path, demands, cause);
    return undefined;
  }
  try {
    const status = fstatSync(descriptor);
    assertDemands(path, status, demands);
    const buffer = Buffer.alloc(status.size);
    let length = 0;
    for (let read = -1; read !== 0 && length < buffer.length; length += read)
      read = readSync(descriptor, buffer, length, buffer.length - length, null);
    return buffer.subarray(0, length);
  } finally {
    closeSync(descriptor);
  }
}

/** Of an open file, no more than this; FileHandle's own readFile follows one that grows. */
export async function readAtMost(file: FileHandle, bytes: number): Promise<Buffer> {
  const buffer = Buffer.alloc(bytes);
  let length = 0;
  for (let read = -1; read !== 0 && length < bytes; length += read)
    ({ bytesRead: read } = await file.read(buffer, length, bytes - length, null));
  return buffer.subarray(0, length);
}

/**
 * Names in a directory that a user can fill: the first `most` that the kernel tells, in no order; none
 * where there is no directory, or another thing in its place.
 */
export async function someNamesIn(folder: string, most: number): Promise<readonly string[]> {
  const { opendir } = await import('node:fs/promises');
  const names: string[] = [];
  try {
    for await (const { name } of await opendir(folder)) {
      if (names.length === most) break;
      names.push(name);
    }
  } catch (error) {
    if (!isErrno(error)) throw error;
  }
  return names;
}

/** A symlink could make us take a foreign file for the user's own; a FIFO must not block us. */
const openFlags =
  constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

function notOpened(path: string, demands: FileDemands, cause: unknown): void {
  if (isErrno(cause, 'ENOENT')) return;
  const code = isErrno(cause) ? String(cause.code) : String(cause);
  const why = code === 'ELOOP' ? 'it is a symlink' : code;
  throw unusable(path, demands, 'unreadable', why, cause);
}

function assertDemands(path: string, status: Stats, demands: FileDemands): void {
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
  { secret = false }: FileDemands,
  kind: keyof typeof codes,
  why: string,
  cause?: unknown,
): BerthError {
  return new BerthError(`${escapeControl(path)} cannot be used: ${why}`, {
    code: codes[kind][secret ? 'secret' : 'plain'],
    exit: 'permission',
    hint: secret
      ? 'Check its owner and mode with `namei -l`. Berth writes this file itself and recreates it where it is missing.'
      : 'Check its owner, type and size with `namei -l`. Do not delete single files of podman’s storage.',
    fields: { file: path },
    ...(cause === undefined ? {} : { cause }),
  });
}
