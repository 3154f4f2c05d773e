import { lstatSync, readlinkSync, type Stats } from 'node:fs';
import { dirname } from 'node:path';
import { BerthError, isErrno } from '../errors.ts';
import { escapeControl } from '../log.ts';

/** The kernel's limit (path_resolution(7)). */
const mostLinks = 40;

/**
 * Checks that nobody else can replace this file: each directory of its path must belong to root or to the caller, and only
 * they may write it. In a sticky directory such as /tmp, other users can only replace their own files. Symlinks are
 * followed one by one, because each of them is in a directory.
 *
 * It takes a few lstat calls of some microseconds each. The file need not exist.
 *
 * @param uid effective UID of the process
 * @throws {BerthError} `config-directory-writable`, with the fields `file` and `directory`
 */
export function assertFoldersOf(path: string, uid: number): void {
  const names = namesIn(path.startsWith('/') ? path : `${process.cwd()}/${path}`);
  let folder = '/';
  let shared = checkFolder(path, folder, lstatSync(folder), uid);
  for (let links = 0; links <= mostLinks;) {
    const name = names.shift();
    if (name === undefined) return;
    if (name === '..') {
      folder = dirname(folder);
      shared = checkFolder(path, folder, lstatSync(folder), uid);
      continue;
    }
    const entry = folder === '/' ? `/${name}` : `${folder}/${name}`;
    const status = look(entry);
    if (status?.isSymbolicLink()) {
      links += 1;
      if (shared) checkOwner(path, entry, status, uid);
      const target = readlinkSync(entry);
      names.unshift(...namesIn(target));
      if (target.startsWith('/')) folder = '/';
    } else if (status?.isDirectory() && names.length > 0) {
      folder = entry;
      shared = checkFolder(path, folder, status, uid);
    } else return;
  }
}

function namesIn(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.');
}

/** Errors are ignored here, because opening the file reports them. */
function look(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if (isErrno(error)) return undefined;
    throw error;
  }
}

/** @returns true for a directory like /tmp, in which other users may have entries */
function checkFolder(path: string, folder: string, status: Stats, uid: number): boolean {
  checkOwner(path, folder, status, uid);
  if ((status.mode & 0o022) === 0) return false;
  if ((status.mode & 0o1000) !== 0) return true;
  const who = (status.mode & 0o002) === 0 ? `group ${status.gid}` : 'all users';
  throw replaceable(path, folder, `is writable by ${who}`, 'chmod go-w');
}

function checkOwner(path: string, entry: string, status: Stats, uid: number): void {
  if (status.uid === 0 || status.uid === uid) return;
  throw replaceable(path, entry, `belongs to UID ${status.uid}`, 'chown -h root');
}

function replaceable(path: string, folder: string, found: string, command: string): BerthError {
  const hint = `Check its contents, then run \`${command} ${folder}\`. \`namei -l ${path}\` shows the whole path.`;
  return new BerthError(
    `other users could replace ${escapeControl(path)}: ${escapeControl(folder)} ${found}`,
    {
      code: 'config-directory-writable',
      exit: 'config',
      hint: escapeControl(hint),
      fields: { file: path, directory: folder },
    },
  );
}
