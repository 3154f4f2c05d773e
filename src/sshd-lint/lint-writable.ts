import { lstat, readlink, realpath, stat } from 'node:fs/promises';
import type { Stats } from 'node:fs';
import { dirname, join } from 'node:path';
import type { PathCheck, SshdFinding } from './rules/finding.ts';
import { isErrno } from '../errors.ts';

/** As the kernel has it. */
const mostLinks = 40;

/**
 * Whether somebody else than root can put another file in this one's place, or make one where there is
 * none: each folder and link on the way is looked at, as the kernel follows them.
 */
async function replaceableBy(path: string): Promise<PathCheck['open']> {
  const left = path.split('/').filter((part) => part !== '');
  let folder: { readonly path: string; readonly status: Stats } = {
    path: '/',
    status: await stat('/'),
  };
  let links = 0;
  if (isOpen(folder.status)) return opened(path, folder);
  for (let name = left.shift(); name !== undefined; name = left.shift()) {
    if (name === '.') continue;
    const next = join(folder.path, name);
    const status = await lstat(next).catch((error: unknown) => {
      if (isErrno(error, 'ENOENT', 'ENOTDIR')) return undefined;
      throw error;
    });
    // A folder such as /tmp keeps what is root's from others by its sticky bit; what is not there it does not.
    if (status === undefined) return isShared(folder.status) ? opened(path, folder) : undefined;
    if (status.isSymbolicLink()) {
      if (status.uid !== 0 && isShared(folder.status)) return opened(path, { path: next, status });
      links += 1;
      if (links > mostLinks) return undefined;
      const target = await readlink(next);
      left.unshift(...target.split('/').filter((part) => part !== ''));
      if (target.startsWith('/')) folder = { path: '/', status: await stat('/') };
      continue;
    }
    if (isOpen(status)) return opened(path, { path: next, status });
    folder = { path: next, status };
  }
  return undefined;
}

function isShared({ mode }: Stats): boolean {
  return (mode & 0o022) !== 0;
}

/** Another owner, or other writers whom no sticky bit keeps from root's files. */
function isOpen(status: Stats): boolean {
  const sticky = status.isDirectory() && (status.mode & 0o1000) !== 0;
  return status.uid !== 0 || (isShared(status) && !sticky);
}

function opened(
  path: string,
  { path: part, status: { uid, mode } }: { readonly path: string; readonly status: Stats },
): PathCheck['open'] {
  const bits = (mode & 0o7777).toString(8).padStart(4, '0');
  return {
    message: `others than root can replace ${path}: ${part} is of UID ${uid}, mode ${bits}`,
    closedBy: `chown root:root ${part}; chmod go-w ${part}`,
  };
}

/** `door` where somebody else than root can put another file in this one's place. */
export async function writableFindings(
  path: string,
  code: SshdFinding['code'],
): Promise<SshdFinding[]> {
  const open = await replaceableBy(path);
  return open === undefined ? [] : [{ code, severity: 'door', ...open }];
}

/** Whether others can replace it, where it leads, and whether sshd would run it as a command of its own. */
export async function checkPath(path: string): Promise<PathCheck> {
  const [open, linkable, unsafe, real] = await Promise.all([
    replaceableBy(path),
    isLinkable(path),
    unsafeForSshd(path),
    realpath(path).catch(() => path),
  ]);
  return {
    real,
    ...(open === undefined ? {} : { open, linkable }),
    ...(unsafe === undefined ? {} : { unsafe }),
  };
}

/** Whether others can put a link in its place: of a file that only its own mode opens, its folder is root's. */
async function isLinkable(path: string): Promise<boolean> {
  const folder = dirname(path);
  if ((await replaceableBy(folder)) !== undefined) return true;
  const status = await stat(folder).catch(() => undefined);
  return status === undefined || isShared(status);
}

/** `safe_path` of OpenSSH's misc.c: it looks at the real file and its folders, and knows no sticky bit. */
async function unsafeForSshd(path: string): Promise<string | undefined> {
  const real = await realpath(path).catch(() => undefined);
  if (real === undefined) return 'it is not there';
  if (!(await stat(real)).isFile()) return 'it is not a regular file';
  for (let part = real; ; part = dirname(part)) {
    const status = await stat(part);
    if (status.uid !== 0 || isShared(status)) return `others than root can write ${part}`;
    if (part === dirname(part)) return undefined;
  }
}
