import { constants, type BigIntStats, type Stats } from 'node:fs';
import { lstat, open, realpath, stat, type FileHandle } from 'node:fs/promises';
import { dirname, isAbsolute, resolve } from 'node:path';
import { defaultKubeconfig } from '../../config/user-kubeconfig.ts';
import { BerthError, isErrno } from '../../errors.ts';
import type { User } from '../../identity/user.ts';
import { escapeControl } from '../../log.ts';
import { readAtMost } from '../../system/user-file.ts';

/** The user's kubeconfig as it is now. */
export interface KubeconfigSource {
  /** `$HOME/.kube/config`, or what the site names: the name that kubectl locks. */
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
 * user's own and to nothing else; where the site names the file, to nothing outside of the home.
 * Nothing can hold it up but the file system: a FIFO or a device is recognised first. A file that the
 * user may not write is refused here already, so that the dry run says so too.
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
  // A user's own ~/.kube may well be on another file system; a folder that the site names is not.
  if (file !== defaultKubeconfig) await assertInside(path, target ?? dirname(path), home);
  if (target === undefined) return { path, target: path, contents: new Uint8Array() };
  const opened = await openOwn(path, target, user);
  if (opened === undefined) return { path, target, contents: new Uint8Array() };
  try {
    const status = await opened.stat();
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
      contents: await readAtMost(opened, status.size),
      mode: status.mode & 0o777,
    };
  } finally {
    await opened.close();
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
async function resolved(path: string, home: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch (cause) {
    if (isErrno(cause, 'ENOENT')) {
      if (!(await isLinkBelow(path, home))) return undefined;
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

/** Whether a link to nothing is on the way from the home to the path. */
async function isLinkBelow(path: string, home: string): Promise<boolean> {
  if (path === home || path === '/') return false;
  return (await isLink(path)) || isLinkBelow(dirname(path), home);
}

/** What is to be written must be in the home, links resolved, and so must the folder to be made. */
async function assertInside(path: string, target: string, home: string): Promise<void> {
  let real: string | undefined;
  for (let at = target; real === undefined; at = dirname(at)) real = await realpathIfThere(at);
  const realHome = await realpath(home);
  if (real !== realHome && !isBelow(real, realHome)) throw outside(path, home, real);
}

async function realpathIfThere(path: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}

function isBelow(path: string, folder: string): boolean {
  return path.startsWith(`${folder}/`);
}

function outside(path: string, home: string, real?: string): BerthError {
  const leads = real === undefined ? 'is' : `leads to ${escapeControl(real)}:`;
  return refused(path, `${leads} outside of the home ${home}`, {
    code: 'kubeconfig-outside-home',
    exit: 'config',
    hint: 'Write v2.job.config_file of the cluster in clusters.d as $HOME/PATH, with no link that leads out; or set credentials.mode: none in berth.yml, and write that file yourself.',
  });
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
