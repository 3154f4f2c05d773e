import { type BigIntStats, constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, open, realpath, stat } from 'node:fs/promises';
import { dirname, isAbsolute, resolve } from 'node:path';
import { defaultKubeconfig } from '../../config/schema/kubeconfig-path.ts';
import {
  BerthError,
  type ErrorCode,
  type ErrorDetails,
  expectErrno,
  isErrno,
} from '../../system/errors/berth-error.ts';
import type { User } from '../../system/identity/nss.ts';
import { escapeControl } from '../../log.ts';
import { ifExists } from '../../system/if-present.ts';
import { readAtMost } from '../../system/user-file.ts';

/** The user's kubeconfig as it is now. */
export interface KubeconfigSource {
  /** `$HOME/.kube/config`, or the site's choice: the name that kubectl locks. */
  readonly path: string;
  /** The resolved path; differs if the user made it a symlink. */
  readonly target: string;
  /** Empty if there is no file. */
  readonly contents: Uint8Array;
  /** Permission bits; undefined if there is no file. */
  readonly mode?: number;
}

/** In bytes. A few hundred clusters with their certificates take 2 MiB. */
const largestFile = 8 * 1024 * 1024;

/**
 * Reads `$HOME/.kube/config`; call it as the user. A symlink is followed only to a file that the user
 * owns; if the site names the file, only within the home. A FIFO or a device is recognised before
 * it is opened, so only the file system can block. A read-only file is refused here, so that a dry
 * run reports it too.
 *
 * @param file `config_file` of OnDemand's cluster: relative to the home, or absolute and below it
 * @throws `home-invalid`, `home-missing`, `kubeconfig-outside-home`, `kubeconfig-not-own-file`, `kubeconfig-not-a-file`,
 *   `kubeconfig-dangling-link`, `kubeconfig-read-only`, `kubeconfig-unreadable`,
 *   `kubeconfig-too-large`
 */
export async function readKubeconfig(
  user: User,
  file: string = defaultKubeconfig,
): Promise<KubeconfigSource> {
  await assertHome(user);
  const home = resolve(user.home);
  const path = resolve(home, file);
  if (!isBelow(path, home)) throw outside(path, home);
  const target = await resolved(path, home);
  // A user may keep ~/.kube on another file system; a directory that the site names must be in the home.
  if (file !== defaultKubeconfig) await assertInside(path, target ?? dirname(path), home);
  if (target === undefined) return { path, target: path, contents: new Uint8Array() };
  const opened = await openOwn(path, target, user);
  if (opened === undefined) return { path, target, contents: new Uint8Array() };
  try {
    const status = await opened.stat();
    checkKind(path, status, user);
    if (status.size > largestFile) throw kubeconfigTooLarge(path, `has ${status.size} bytes`);
    return {
      path,
      target,
      contents: await readAtMost(opened, status.size),
      mode: status.mode & 0o777,
    };
  } finally {
    await opened.close();
  }
}

/**
 * Checks that the home exists; Berth makes no homes. Call it as the user.
 *
 * @throws `home-invalid`, `home-missing`
 */
export async function assertHome(user: User): Promise<void> {
  if (!isAbsolute(user.home) || /^\/+$/.test(user.home) || user.home.includes('\0')) {
    throw new BerthError(
      'home-invalid',
      `the home directory of ${user.name} is ${JSON.stringify(user.home)}, so nothing was written there`,
      { fields: { user: user.name } },
    );
  }
  try {
    if ((await stat(user.home)).isDirectory()) return;
  } catch (cause) {
    expectErrno(cause, 'ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP', 'ESTALE');
    throw missingHome(user, cause);
  }
  throw missingHome(user);
}

function missingHome(user: User, cause?: unknown): BerthError {
  const why = isErrno(cause) ? (cause.code ?? '') : 'it is not a directory';
  return new BerthError(
    'home-missing',
    `the home of ${user.name} cannot be entered: ${user.home}: ${why}`,
    {
      fields: { user: user.name, file: user.home },
      cause,
    },
  );
}

/** The resolved path; undefined if there is nothing. */
async function resolved(path: string, home: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch (cause) {
    if (isErrno(cause, 'ENOENT')) {
      if (!(await isLinkBelow(path, home))) return undefined;
      throw refused(
        'kubeconfig-dangling-link',
        path,
        'is a symbolic link whose target does not exist',
        { hint: `Create its target, or remove the link: rm ${path}`, cause },
      );
    }
    if (isErrno(cause, 'EACCES')) throw unreadable(path, cause);
    if (isErrno(cause, 'ELOOP', 'ENOTDIR')) throw notAFile(path, cause);
    throw cause;
  }
}

/** Whether the path or one of its directories below the home is a symbolic link whose target does not exist. */
async function isLinkBelow(path: string, home: string): Promise<boolean> {
  if (path === home || path === '/') return false;
  return (await isLink(path)) || isLinkBelow(dirname(path), home);
}

/** The file and the directory to be made must be in the home, with symlinks resolved. */
async function assertInside(path: string, target: string, home: string): Promise<void> {
  let real: string | undefined;
  for (let at = target; real === undefined; at = dirname(at)) real = await ifExists(realpath(at));
  const realHome = await realpath(home);
  if (real !== realHome && !isBelow(real, realHome)) throw outside(path, home, real);
}

function isBelow(path: string, directory: string): boolean {
  return path.startsWith(`${directory}/`);
}

function outside(path: string, home: string, real?: string): BerthError {
  const leads = real === undefined ? 'is' : `resolves to ${escapeControl(real)},`;
  return refused('kubeconfig-outside-home', path, `${leads} outside of the home ${home}`);
}

/** Whether it is a symbolic link whose target does not exist. */
async function isLink(path: string): Promise<boolean> {
  const status = await ifExists(lstat(path));
  return status?.isSymbolicLink() === true && (await realpath(path).catch(() => '')) === '';
}

/**
 * Opens it for reading and writing, since access(2) would check the real user, who is root. Undefined if
 * the file has just been removed.
 */
async function openOwn(path: string, target: string, user: User): Promise<FileHandle | undefined> {
  const { O_RDWR, O_RDONLY, O_NONBLOCK, O_NOFOLLOW, O_NOCTTY } = constants;
  const flags = O_NONBLOCK | O_NOFOLLOW | O_NOCTTY;
  try {
    checkKind(path, await lstat(target), user);
    return await open(target, O_RDWR | flags);
  } catch (cause) {
    if (isErrno(cause, 'ENOENT')) return undefined;
    expectErrno(cause, 'EACCES', 'EPERM', 'EROFS');
    const reading = await open(target, O_RDONLY | flags).catch(() => undefined);
    if (reading === undefined) throw unreadable(path, cause);
    await reading.close();
    throw refused('kubeconfig-read-only', path, 'is read-only', {
      hint: `Run \`chmod u+w ${path}\`, or mount the home read-write.`,
      cause,
    });
  }
}

function checkKind(path: string, status: Stats | BigIntStats, user: User): void {
  if (!status.isFile()) throw notAFile(path);
  if (Number(status.uid) === user.uid) return;
  throw refused('kubeconfig-not-own-file', path, `resolves to a file of UID ${status.uid}`, {
    hint: `Remove it: rm ${path}. The next login creates a file that the user owns.`,
  });
}

function notAFile(path: string, cause?: unknown): BerthError {
  return refused('kubeconfig-not-a-file', path, 'is not a regular file', {
    hint: `Rename it: mv ${path} ${path}.old`,
    cause,
  });
}

function unreadable(path: string, cause: unknown): BerthError {
  return refused('kubeconfig-unreadable', path, 'cannot be read by its user', {
    hint: `Check owners and modes as that user: namei -l ${path}`,
    cause,
  });
}

function refused(
  code: ErrorCode,
  path: string,
  reason: string,
  details?: Pick<ErrorDetails, 'hint' | 'cause'>,
): BerthError {
  return new BerthError(code, `${path} ${reason}`, { ...details, fields: { file: path } });
}

/**
 * @param file its name, for the message
 * @param why such as `has 9000000 bytes`
 */
export function kubeconfigTooLarge(file: string, why: string): BerthError {
  return new BerthError('kubeconfig-too-large', `${file} ${why}`, { fields: { file } });
}
