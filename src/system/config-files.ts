import {
  type BigIntStats,
  constants,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
} from 'node:fs';
import { BerthError, expectErrno, type ErrorCode } from './errors/berth-error.ts';
import { escapeControl } from '../log.ts';
import { assertParentDirectories } from './config-directories.ts';
import { whileOpen } from './path-descriptor.ts';

/** A configuration file that only root or the caller can write. */
export interface ConfigFile {
  readonly path: string;
  readonly bytes: Buffer;
  /** Changes whenever the file does; see `fileIdentity`. */
  readonly identity: string;
  /** When contents, owner or mode last changed (ctime), in nanoseconds since the epoch. */
  readonly changedNs: bigint;
  readonly worldReadable: boolean;
}

export interface ConfigFileOptions {
  /** Whether an empty file is a file without settings. Otherwise it is more likely a damaged one. */
  readonly mayBeEmpty?: boolean;
}

const largest = 1024n * 1024n;

/**
 * Reads a configuration file. It is checked and read through the same descriptor.
 *
 * @param path symlinks are followed: what matters is who can write the file
 * @param uid effective UID of the process. The file must belong to root or to this UID.
 * @throws {BerthError} `config-missing`, `config-empty`, `config-unreadable`, `config-not-a-file`,
 *   `config-not-owned-by-root`, `config-writable-by-others`, `config-directory-writable`, `config-too-large`,
 *   with the field `file`
 */
export function readConfigFile(
  path: string,
  uid: number,
  options: ConfigFileOptions = {},
): ConfigFile {
  assertParentDirectories(path, uid);
  return readConfigFileUnchecked(path, uid, options);
}

/**
 * As `readConfigFile`, but without checking the directories. Use it only for a hint, or if the file is known by its
 * identity.
 */
export function readConfigFileUnchecked(
  path: string,
  uid: number,
  { mayBeEmpty = false }: ConfigFileOptions = {},
): ConfigFile {
  return withDescriptor(path, (descriptor) => {
    const status = fstatSync(descriptor, { bigint: true });
    if (!status.isFile()) {
      const what = status.isDirectory() ? 'a directory' : 'not a regular file';
      throw fault('config-not-a-file', path, `is ${what}`);
    }
    checkWriters(path, status, uid);
    if (status.size > largest) {
      throw fault('config-too-large', path, `has ${status.size} bytes; the limit is 1 MiB`);
    }
    const bytes = readFileSync(descriptor);
    if (!mayBeEmpty && bytes.toString('latin1').trim() === '')
      throw fault('config-empty', path, 'is empty');
    return {
      path,
      bytes,
      identity: identityOf(status),
      changedNs: status.ctimeNs,
      worldReadable: (status.mode & 0o004n) !== 0n,
    };
  });
}

/**
 * The same requirements for a program to run, which may be large and is not read.
 *
 * @throws BerthError those of `readConfigFile` that are not about size and contents
 */
export function assertOwnProgram(path: string, uid: number): void {
  assertParentDirectories(path, uid);
  withDescriptor(path, (descriptor) =>
    checkWriters(path, fstatSync(descriptor, { bigint: true }), uid),
  );
}

/** Whether an error can be fixed without changing the file, so that its identity stays the same. */
export function isFixedOutsideFile(thrown: unknown): boolean {
  return (
    thrown instanceof BerthError &&
    (thrown.code === 'config-unreadable' || thrown.code === 'config-directory-writable')
  );
}

export interface ConfigDirectory {
  /** Names of the entries, sorted. */
  readonly names: readonly string[];
  readonly identity: string;
  readonly changedNs: bigint;
}

/**
 * Lists a configuration directory, with the checks of `readConfigFile`: whoever can write a directory can replace its
 * files.
 *
 * @throws {BerthError} as `readConfigFile`, and `config-not-a-directory`
 */
export function readConfigDirectory(path: string, uid: number): ConfigDirectory {
  assertParentDirectories(path, uid);
  return withDescriptor(path, (descriptor) => {
    const status = fstatSync(descriptor, { bigint: true });
    if (!status.isDirectory()) {
      throw fault('config-not-a-directory', path, 'is not a directory');
    }
    checkWriters(path, status, uid);
    const names = readdirSync(path).sort();
    return { names, identity: identityOf(status), changedNs: status.ctimeNs };
  });
}

/**
 * Device, inode, size, mtime and ctime of a file: they stay equal until the file is written or replaced, or its owner or
 * mode changes. `absent` if there is none. It takes one system call and reads nothing.
 */
export function fileIdentity(path: string): string {
  try {
    const status = statSync(path, { bigint: true, throwIfNoEntry: false });
    return status === undefined ? 'absent' : identityOf(status);
  } catch (error) {
    expectErrno(error);
    return `error ${String(error.code)}`;
  }
}

function identityOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${size}:${mtimeNs}:${ctimeNs}`;
}

function withDescriptor<T>(path: string, use: (descriptor: number) => T): T {
  try {
    // O_NONBLOCK: opening a FIFO must not block the hook.
    return whileOpen(openSync(path, constants.O_RDONLY | constants.O_NONBLOCK), use);
  } catch (cause) {
    expectErrno(cause);
    const { code } = cause;
    if (code === 'ENOENT' || code === 'ENOTDIR') {
      const hint = path.endsWith('/hook.env')
        ? 'Write it with IDP_ISSUER_URL, CLIENT_ID and CLIENT_SECRET, or set hook_env: null in berth.yml, and the issuer and client in defaults.credentials there.'
        : path.startsWith('/root/')
          ? 'Create it, or correct the path to it. If it exists, and this is from the log of OnDemand’s hook, the unit of Apache may hide /root: run `berth doctor`.'
          : path.startsWith('/etc/ood/')
            ? 'Create it, or correct the path to it. A login node needs it only for sessions in pods: `berth init login-node --backend pod` writes it. For a session in a container: `berth plan --ssh --user NAME`.'
            : path === '/etc/berth/ssh.yml'
              ? 'This host is not set up for sessions: run `berth init login-node`.'
              : 'Create it, or correct the path to it.';
      throw fault('config-missing', path, 'does not exist', hint, cause);
    }
    const hint =
      code === 'EACCES'
        ? `Check owners and modes with \`namei -l ${path}\`. Only ssh.yml and its profiles need mode 0644: sessions read them as the user.`
        : 'Check each directory of the path with `namei -l`, and check the disk.';
    throw fault('config-unreadable', path, `could not be read: ${String(code)}`, hint, cause);
  }
}

function checkWriters(path: string, status: BigIntStats, uid: number): void {
  if (status.uid !== 0n && status.uid !== BigInt(uid)) {
    const owner = uid === 0 ? 'root' : 'root or you';
    const hint = `Check its contents, then run \`chown root ${path}\`.`;
    throw fault(
      'config-not-owned-by-root',
      path,
      `belongs to UID ${status.uid}, not to ${owner}`,
      hint,
    );
  }
  const world = (status.mode & 0o002n) !== 0n;
  if (!world && (status.mode & 0o020n) === 0n) return;
  const who = world ? 'all users' : `group ${status.gid}`;
  const hint = `Check its contents, then run \`chmod go-w ${path}\`.`;
  throw fault('config-writable-by-others', path, `is writable by ${who}`, hint);
}

function fault(
  code: ErrorCode,
  path: string,
  found: string,
  hint?: string,
  cause?: unknown,
): BerthError {
  return new BerthError(code, `${escapeControl(path)} ${found}`, {
    hint: hint && escapeControl(hint),
    fields: { file: path },
    cause,
  });
}
