import { lstatSync, readlinkSync, type Stats } from 'node:fs';
import { dirname } from 'node:path';
import { BerthError, expectErrno } from './errors/berth-error.ts';
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
export function assertParentDirectories(path: string, uid: number): void {
  const names = namesIn(path.startsWith('/') ? path : `${process.cwd()}/${path}`);
  let directory = '/';
  let shared = checkDirectory(path, directory, lstatSync(directory), uid);
  for (let links = 0; links <= mostLinks;) {
    const name = names.shift();
    if (name === undefined) return;
    if (name === '..') {
      directory = dirname(directory);
      shared = checkDirectory(path, directory, lstatSync(directory), uid);
      continue;
    }
    const entry = directory === '/' ? `/${name}` : `${directory}/${name}`;
    const status = look(entry);
    if (status?.isSymbolicLink()) {
      links += 1;
      if (shared) checkOwner(path, entry, status, uid);
      const target = readlinkSync(entry);
      names.unshift(...namesIn(target));
      if (target.startsWith('/')) directory = '/';
    } else if (status?.isDirectory() && names.length > 0) {
      directory = entry;
      shared = checkDirectory(path, directory, status, uid);
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
    expectErrno(error);
    return undefined;
  }
}

/** @returns true for a directory like /tmp, in which other users may have entries */
function checkDirectory(path: string, directory: string, status: Stats, uid: number): boolean {
  checkOwner(path, directory, status, uid);
  if ((status.mode & 0o022) === 0) return false;
  if ((status.mode & 0o1000) !== 0) return true;
  const who = (status.mode & 0o002) === 0 ? `group ${status.gid}` : 'all users';
  throw replaceable(path, directory, `is writable by ${who}`, 'chmod go-w');
}

function checkOwner(path: string, entry: string, status: Stats, uid: number): void {
  if (status.uid === 0 || status.uid === uid) return;
  throw replaceable(path, entry, `belongs to UID ${status.uid}`, 'chown -h root');
}

function replaceable(path: string, directory: string, found: string, command: string): BerthError {
  const hint = `Check its contents, then run \`${command} ${directory}\`. \`namei -l ${path}\` shows the whole path.`;
  return new BerthError(
    'config-directory-writable',
    `other users could replace ${escapeControl(path)}: ${escapeControl(directory)} ${found}`,
    {
      hint: escapeControl(hint),
      fields: { file: path, directory },
    },
  );
}

/** The permissions of a mode as chmod(1) takes them, with four digits. */
export function octal(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, '0');
}
