import { lstatSync, readlinkSync, type Stats } from 'node:fs';
import { dirname } from 'node:path';
import { BerthError, isErrno } from '../errors.ts';
import { escapeControl } from '../log.ts';

/** As the kernel's own limit (path_resolution(7)). */
const mostLinks = 40;

/**
 * Makes sure that nobody else can put another file in the place of this one: each folder on the way
 * belongs to root or to the caller, and only they can write to it. In a sticky folder (/tmp) others
 * can replace what is theirs only. Links are followed one by one, for each of them stands in a folder.
 *
 * A few lstat calls, some microseconds each. The file need not be there: who could remove it is of
 * interest as well.
 *
 * @param uid The running process's effective UID.
 * @throws BerthError `config-directory-writable`, with `file` and `folder`
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

/** What cannot be looked at is reported by whoever opens the file. */
function look(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if (isErrno(error)) return undefined;
    throw error;
  }
}

/** @returns True for a folder like /tmp, where others have entries of their own. */
function checkFolder(path: string, folder: string, status: Stats, uid: number): boolean {
  checkOwner(path, folder, status, uid);
  if ((status.mode & 0o022) === 0) return false;
  if ((status.mode & 0o1000) !== 0) return true;
  const who = (status.mode & 0o002) === 0 ? `group ${status.gid}` : 'everybody';
  throw replaceable(path, folder, `can be written by ${who}`, 'chmod go-w');
}

function checkOwner(path: string, entry: string, status: Stats, uid: number): void {
  if (status.uid === 0 || status.uid === uid) return;
  throw replaceable(path, entry, `belongs to UID ${status.uid}`, 'chown -h root');
}

function replaceable(path: string, folder: string, found: string, command: string): BerthError {
  const hint = `Look at what it holds, then run \`${command} ${folder}\`; \`namei -l ${path}\` shows the whole way.`;
  return new BerthError(
    `${escapeControl(path)} could be replaced by others: ${escapeControl(folder)} ${found}`,
    {
      code: 'config-directory-writable',
      exit: 'config',
      hint: escapeControl(hint),
      fields: { file: path, folder },
    },
  );
}
