import { constants, type BigIntStats, type Stats } from 'node:fs';
import { lstat, open, realpath, stat, type FileHandle } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { BerthError, isErrno } from '../errors.ts';
import type { User } from '../identity/user.ts';
import { readAtMost } from '../system/user-file.ts';

/** The user's kubeconfig as it is now. */
export interface KubeconfigSource {
  /** `$HOME/.kube/config`: the name that kubectl locks. */
  readonly path: string;
  /** What that name leads to; another name where the user made it a symlink. */
  readonly target: string;
  /** Empty where there is no file. */
  readonly contents: Uint8Array;
  /** Permission bits; nothing where there is no file. */
  readonly mode?: number;
}

/** In bytes. The largest honest one, a few hundred clusters with their certificates, has 2 MiB. */
const largestFile = 8 * 1024 * 1024;

/**
 * Reads `$HOME/.kube/config`; to be called as the user. A symlink is followed to a file of the
 * user's own and to nothing else. Nothing can hold it up but the file system: a FIFO or a device is
 * recognised first. A file that the user may not write is refused here already, so that the dry run
 * says so too.
 *
 * @throws `home-invalid`, `home-missing`, `kubeconfig-not-own-file`, `kubeconfig-not-a-file`,
 *   `kubeconfig-dangling-link`, `kubeconfig-read-only`, `kubeconfig-unreadable`,
 *   `kubeconfig-too-large`
 */
export async function readKubeconfig(user: User): Promise<KubeconfigSource> {
  await assertHome(user);
  const path = join(user.home, '.kube', 'config');
  const target = await resolved(path);
  if (target === undefined) return { path, target: path, contents: new Uint8Array() };
  const file = await openOwn(path, target, user);
  if (file === undefined) return { path, target, contents: new Uint8Array() };
  try {
    const status = await file.stat();
    checkKind(path, status, user);
    if (status.size > largestFile) {
      throw refused(path, `has ${status.size} bytes`, {
        code: 'kubeconfig-too-large',
        exit: 'config',
        hint: 'Move what is not needed into another file and name it in KUBECONFIG.',
      });
    }
    return {
      path,
      target,
      contents: await readAtMost(file, status.size),
      mode: status.mode & 0o777,
    };
  } finally {
    await file.close();
  }
}

/**
 * The home must be there: we make no homes. To be called as the user.
 *
 * @throws `home-invalid`, `home-missing`
 */
export async function assertHome(user: User): Promise<void> {
  if (!isAbsolute(user.home) || /^\/+$/.test(user.home) || user.home.includes('\0')) {
    throw new BerthError(
      `the home of ${user.name} is ${JSON.stringify(user.home)}: nothing is written there`,
      {
        code: 'home-invalid',
        exit: 'config',
        hint: `Give the account a home of its own: getent passwd ${user.name}.`,
        fields: { user: user.name },
      },
    );
  }
  try {
    if ((await stat(user.home)).isDirectory()) return;
  } catch (cause) {
    if (!isErrno(cause, 'ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP', 'ESTALE')) throw cause;
    throw missingHome(user, cause);
  }
  throw missingHome(user);
}

function missingHome(user: User, cause?: unknown): BerthError {
  const why = isErrno(cause) ? (cause.code ?? '') : 'it is no folder';
  return new BerthError(`the home of ${user.name} cannot be entered: ${user.home}: ${why}`, {
    code: 'home-missing',
    exit: 'unavailable',
    hint: 'Is the file system mounted on this host, and is the home made (pam_mkhomedir, the site’s own tool)?',
    fields: { user: user.name, file: user.home },
    ...(cause === undefined ? {} : { cause }),
  });
}

/** Where the path leads; nothing where nothing is. */
async function resolved(path: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch (cause) {
    if (isErrno(cause, 'ENOENT')) {
      if (!(await isLink(path)) && !(await isLink(dirname(path)))) return undefined;
      throw refused(path, 'is a symlink to nothing', {
        code: 'kubeconfig-dangling-link',
        exit: 'config',
        hint: `Make what it leads to, or remove it: rm ${path}`,
        cause,
      });
    }
    if (isErrno(cause, 'EACCES')) throw unreadable(path, cause);
    if (isErrno(cause, 'ELOOP', 'ENOTDIR')) throw notAFile(path, cause);
    throw cause;
  }
}

/** Of a link whose target is there too: only called where realpath found nothing. */
async function isLink(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isSymbolicLink() && (await realpath(path).catch(() => '')) === '';
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return false;
    throw error;
  }
}

/**
 * Opened for reading and writing: access(2) would ask for the real user, who is root. Nothing where
 * the file has just gone.
 */
async function openOwn(path: string, target: string, user: User): Promise<FileHandle | undefined> {
  const { O_RDWR, O_RDONLY, O_NONBLOCK, O_NOFOLLOW, O_NOCTTY } = constants;
  const flags = O_NONBLOCK | O_NOFOLLOW | O_NOCTTY;
  try {
    checkKind(path, await lstat(target), user);
    return await open(target, O_RDWR | flags);
  } catch (cause) {
    if (isErrno(cause, 'ENOENT')) return undefined;
    if (!isErrno(cause, 'EACCES', 'EPERM', 'EROFS')) throw cause;
    const reading = await open(target, O_RDONLY | flags).catch(() => undefined);
    if (reading === undefined) throw unreadable(path, cause);
    await reading.close();
    throw refused(path, 'is read-only', {
      code: 'kubeconfig-read-only',
      exit: 'permission',
      hint: `If it need not be: chmod u+w ${path} (or mount the home read-write).`,
      cause,
    });
  }
}

function checkKind(path: string, status: Stats | BigIntStats, user: User): void {
  if (!status.isFile()) throw notAFile(path);
  if (Number(status.uid) === user.uid) return;
  throw refused(path, `leads to a file of UID ${status.uid}`, {
    code: 'kubeconfig-not-own-file',
    exit: 'permission',
    hint: `Replace it by a file of the user's own: rm ${path}`,
  });
}

function notAFile(path: string, cause?: unknown): BerthError {
  return refused(path, 'is no regular file', {
    code: 'kubeconfig-not-a-file',
    exit: 'config',
    hint: `Move it out of the way: mv ${path} ${path}.old`,
    cause,
  });
}

function unreadable(path: string, cause: unknown): BerthError {
  return refused(path, 'cannot be read by its user', {
    code: 'kubeconfig-unreadable',
    exit: 'permission',
    hint: `Look at owners and modes as that user: namei -l ${path}`,
    cause,
  });
}

function refused(
  path: string,
  reason: string,
  details: Omit<ConstructorParameters<typeof BerthError>[1], 'fields'>,
): BerthError {
  return new BerthError(`${path} ${reason}`, { ...details, fields: { file: path } });
}
