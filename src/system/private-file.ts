import {
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  type Stats,
  writeFileSync,
} from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { BerthError, isErrno } from '../errors.ts';
import { escapeControl } from '../log.ts';
import { isOfDead, markPattern, processMark } from './process-mark.ts';

/**
 * Reads a file that holds secrets, and refuses one that somebody else could have written or read.
 * Synchronous and with nothing but node:fs: the exec plugin runs at every kubectl.
 *
 * @param uid Who must own it.
 * @returns Nothing where there is no such file.
 * @throws {BerthError} `private-file-unsafe` (owner, mode, no plain file), `private-file-too-large`,
 *   `private-file-unreadable`.
 */
export function readPrivateFile(
  path: string,
  uid: number,
  maximumBytes: number,
): string | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (cause) {
    notOpened(path, cause);
    return;
  }
  try {
    const status = fstatSync(descriptor);
    assertPrivate(path, status, uid, maximumBytes);
    const buffer = Buffer.alloc(status.size);
    let length = 0;
    for (let read = -1; read !== 0 && length < buffer.length; length += read) {
      read = readSync(descriptor, buffer, length, buffer.length - length, null);
    }
    return buffer.toString('utf8', 0, length);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * As `readPrivateFile`, for a file in a home: a home that hangs must not stop the event loop, and
 * with it the deadline.
 */
export async function readPrivateFileSoon(
  path: string,
  uid: number,
  maximumBytes: number,
): Promise<string | undefined> {
  const { open } = await import('node:fs/promises');
  let file: FileHandle;
  try {
    file = await open(path, openFlags);
  } catch (cause) {
    notOpened(path, cause);
    return;
  }
  try {
    assertPrivate(path, await file.stat(), uid, maximumBytes);
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

/**
 * Replaces a file in one step, readable by its owner only: a reader sees the old one or the new one,
 * and a kill leaves one of them. It is not waited for until it is on the disk: only for what can be
 * had again where a power cut leaves it empty. Folders on the way are made with mode 0700. What a killed writer
 * left is swept up. For root's own state on a local disk; into a home, write with `writeAtomically`,
 * which explains a full disk.
 */
export function writePrivateFile(path: string, contents: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  sweep(path);
  const temporary = `${path}.${processMark()}.tmp`;
  rmSync(temporary, { force: true });
  const descriptor = openSync(temporary, 'wx', 0o600);
  try {
    writeFileSync(descriptor, contents);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
  renameSync(temporary, path);
}

/** Removes temporary files of this file whose writers are gone. */
function sweep(path: string): void {
  const folder = dirname(path);
  const stem = `${basename(path)}.`;
  for (const name of readdirSync(folder)) {
    if (!name.startsWith(stem)) continue;
    const mark = temporaryEnd.exec(name.slice(stem.length))?.[1];
    if (mark !== undefined && isOfDead(mark)) rmSync(join(folder, name), { force: true });
  }
}

const temporaryEnd = new RegExp(`^(${markPattern})\\.tmp$`);

/** A symlink could make us take a foreign file for the user's own; a FIFO must not block us. */
const openFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

function notOpened(path: string, cause: unknown): undefined {
  if (isErrno(cause, 'ENOENT')) return;
  throw unusable(path, 'unreadable', isErrno(cause, 'ELOOP') ? 'it is a symlink' : reason(cause));
}

function assertPrivate(path: string, status: Stats, uid: number, maximumBytes: number): void {
  if (!status.isFile()) throw unusable(path, 'unsafe', 'it is not a regular file');
  if (status.uid !== uid) throw unusable(path, 'unsafe', `its owner is UID ${status.uid}`);
  if ((status.mode & 0o077) !== 0) {
    throw unusable(path, 'unsafe', `its mode is ${(status.mode & 0o777).toString(8)}`);
  }
  if (status.size > maximumBytes) throw unusable(path, 'too-large', `${status.size} bytes`);
}

function unusable(path: string, kind: string, why: string): BerthError {
  return new BerthError(`${escapeControl(path)} cannot be used: ${why}`, {
    code: `private-file-${kind}`,
    exit: 'permission',
    hint: 'Remove the file and log in to the portal again: it is made anew.',
    fields: { file: path },
  });
}

function reason(cause: unknown): string {
  return isErrno(cause) ? String(cause.code) : String(cause);
}
