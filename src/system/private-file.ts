import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isOfDead, markPattern, processMark } from './process-mark.ts';
import { readUserFile, readUserFileSync } from './user-file.ts';

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
  return readUserFileSync(path, { uid, maximumBytes, secret: true })?.toString('utf8');
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
  return (await readUserFile(path, { uid, maximumBytes, secret: true }))?.toString('utf8');
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
