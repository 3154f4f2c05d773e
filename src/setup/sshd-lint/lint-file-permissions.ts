import { lstat, readlink, realpath, stat } from 'node:fs/promises';
import type { Stats } from 'node:fs';
import { dirname, join } from 'node:path';
import { critical, type PathCheck, type SshdFinding } from './rules/sshd-finding.ts';
import { octal } from '../../system/config-directories.ts';
import { ifExists } from '../../system/if-present.ts';

/** The kernel's limit. */
const mostLinks = 40;

/**
 * Checks whether a user other than root can replace a file, or create it if it does not exist. Every directory and
 * symbolic link of the path is checked, as the kernel follows them.
 */
async function replaceableBy(path: string): Promise<PathCheck['open']> {
  const left = path.split('/').filter((part) => part !== '');
  let directory: { readonly path: string; readonly status: Stats } = {
    path: '/',
    status: await stat('/'),
  };
  let links = 0;
  if (isOpen(directory.status)) return opened(path, directory);
  for (let name = left.shift(); name !== undefined; name = left.shift()) {
    if (name === '.') continue;
    const next = join(directory.path, name);
    const status = await ifExists(lstat(next));
    // The sticky bit of a directory such as /tmp protects files of root, but does not prevent new files.
    if (status === undefined)
      return isShared(directory.status) ? opened(path, directory) : undefined;
    if (status.isSymbolicLink()) {
      if (status.uid !== 0 && isShared(directory.status))
        return opened(path, { path: next, status });
      links += 1;
      if (links > mostLinks) return undefined;
      const target = await readlink(next);
      left.unshift(...target.split('/').filter((part) => part !== ''));
      if (target.startsWith('/')) directory = { path: '/', status: await stat('/') };
      continue;
    }
    if (isOpen(status)) return opened(path, { path: next, status });
    directory = { path: next, status };
  }
  return undefined;
}

function isShared({ mode }: Stats): boolean {
  return (mode & 0o022) !== 0;
}

/** Whether the owner is not root, or others can write and no sticky bit protects root's files. */
function isOpen(status: Stats): boolean {
  const sticky = status.isDirectory() && (status.mode & 0o1000) !== 0;
  return status.uid !== 0 || (isShared(status) && !sticky);
}

function opened(
  path: string,
  { path: part, status: { uid, mode } }: { readonly path: string; readonly status: Stats },
): PathCheck['open'] {
  return {
    message: `users other than root can replace ${path}: ${part} belongs to UID ${uid}, mode ${octal(mode)}`,
    closedBy: `chown root:root ${part}; chmod go-w ${part}`,
  };
}

/** `critical` if a user other than root can replace the file. */
export async function replaceableFindings(
  path: string,
  code: SshdFinding['code'],
): Promise<SshdFinding[]> {
  const open = await replaceableBy(path);
  return open === undefined ? [] : [critical(code, open.message, open.closedBy)];
}

/** Checks whether others can replace a file, where it leads, and whether sshd would run it as a command of its own. */
export async function checkPath(path: string): Promise<PathCheck> {
  const [open, linkable, unsafe, real] = await Promise.all([
    replaceableBy(path),
    isLinkable(path),
    unsafeForSshd(path),
    realpath(path).catch(() => path),
  ]);
  return {
    real,
    ...(open && { open, linkable }),
    unsafe,
  };
}

/** Whether others can put a symbolic link in its place: not if only the mode of the file is too open. */
async function isLinkable(path: string): Promise<boolean> {
  const directory = dirname(path);
  if ((await replaceableBy(directory)) !== undefined) return true;
  const status = await stat(directory).catch(() => undefined);
  return status === undefined || isShared(status);
}

/** `safe_path` in OpenSSH's misc.c: checks the resolved file and its directories, and ignores sticky bits. */
async function unsafeForSshd(path: string): Promise<string | undefined> {
  const real = await realpath(path).catch(() => undefined);
  if (real === undefined) return 'it does not exist';
  if (!(await stat(real)).isFile()) return 'it is not a regular file';
  for (let part = real; ; part = dirname(part)) {
    const status = await stat(part);
    if (status.uid !== 0 || isShared(status)) return `users other than root can write to ${part}`;
    if (part === dirname(part)) return undefined;
  }
}
