import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
} from 'node:fs';
import { BerthError, type ErrorCode, isErrno } from '../errors.ts';
import { escapeControl } from '../log.ts';
import { assertFoldersOf } from './config-folders.ts';

/** A configuration file that nobody but its owner could have written. */
export interface ConfigFile {
  readonly path: string;
  readonly bytes: Buffer;
  /** Changes whenever the file does; see `fileIdentity`. */
  readonly identity: string;
  /** When contents, owner or mode last changed (ctime), in nanoseconds since the epoch. */
  readonly changedNs: bigint;
  readonly worldReadable: boolean;
}

const largest = 1024n * 1024n;

/**
 * Reads a configuration file through one descriptor, so that what was checked is what is read.
 *
 * @param path Symlinks are followed: what counts is who can write the file.
 * @param uid The running process's effective UID. The file must be root's or, for a process that is
 *   not root, its own.
 * @throws BerthError `config-missing`, `config-empty`, `config-unreadable`, `config-not-a-file`,
 *   `config-not-owned-by-root`, `config-writable-by-others`, `config-directory-writable`, `config-too-large`;
 *   all with `file`
 */
export function readConfigFile(path: string, uid: number): ConfigFile {
  assertFoldersOf(path, uid);
  return peekConfigFile(path, uid);
}

/**
 * The same without a look at the folders: for a hint, where who uses the contents reads them with
 * `readConfigFile`, or knows the file by its identity.
 */
export function peekConfigFile(path: string, uid: number): ConfigFile {
  return withDescriptor(path, (descriptor) => {
    const status = fstatSync(descriptor, { bigint: true });
    if (!status.isFile()) {
      const what = status.isDirectory() ? 'a directory' : 'no regular file';
      throw fault('config-not-a-file', path, `is ${what}`, 'Put the file in its place.');
    }
    checkWriters(path, status, uid);
    if (status.size > largest) {
      const hint = 'A configuration file has a few kilobytes: is this the right one?';
      throw fault('config-too-large', path, `has ${status.size} bytes, 1 MiB is the limit`, hint);
    }
    const bytes = readFileSync(descriptor);
    if (bytes.toString('latin1').trim() === '') {
      const hint = 'Restore its contents, or remove the file.';
      throw fault('config-empty', path, 'is empty', hint);
    }
    return {
      path,
      bytes,
      identity: identityOf(status),
      changedNs: status.ctimeNs,
      worldReadable: (status.mode & 0o004n) !== 0n,
    };
  });
}

/** True for what is mended without a change of the file itself: its identity then stays as it is. */
export function isOutsideTheFile(thrown: unknown): boolean {
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
 * Lists a configuration directory, with the demands of `readConfigFile`: who can write a directory
 * can replace the files in it.
 *
 * @throws BerthError as `readConfigFile`, and `config-not-a-directory`
 */
export function readConfigDirectory(path: string, uid: number): ConfigDirectory {
  assertFoldersOf(path, uid);
  return withDescriptor(path, (descriptor) => {
    const status = fstatSync(descriptor, { bigint: true });
    if (!status.isDirectory()) {
      throw fault(
        'config-not-a-directory',
        path,
        'is no directory',
        'Name the directory of the files.',
      );
    }
    checkWriters(path, status, uid);
    const names = readdirSync(path).sort();
    return { names, identity: identityOf(status), changedNs: status.ctimeNs };
  });
}

/**
 * Device, inode, size and both change times: equal only while nobody wrote the file, replaced it, or
 * changed its owner or mode; `absent` where there is nothing. One system call, nothing is read.
 */
export function fileIdentity(path: string): string {
  try {
    const status = statSync(path, { bigint: true, throwIfNoEntry: false });
    return status === undefined ? 'absent' : identityOf(status);
  } catch (error) {
    if (isErrno(error)) return `error ${String(error.code)}`;
    throw error;
  }
}

function identityOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${size}:${mtimeNs}:${ctimeNs}`;
}

function withDescriptor<T>(path: string, use: (descriptor: number) => T): T {
  let descriptor: number | undefined;
  try {
    // O_NONBLOCK: a FIFO in the file's place must not hold the hook up.
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    return use(descriptor);
  } catch (cause) {
    if (!isErrno(cause)) throw cause;
    const { code } = cause;
    if (code === 'ENOENT' || code === 'ENOTDIR') {
      const hint = path.startsWith('/root/')
        ? 'Create it, or correct the path to it. If it exists, Apache’s unit may hide /root from the hook: see `berth doctor`.'
        : 'Create it, or correct the path to it.';
      throw fault('config-missing', path, 'does not exist', hint, cause);
    }
    const hint =
      code === 'EACCES'
        ? `Look at owners and modes with \`namei -l ${path}\`. Only ssh.yml and its profiles need mode 0644: sessions read them as their user.`
        : 'Look at each folder on the way with `namei -l`, and at the disk.';
    throw fault('config-unreadable', path, `cannot be read: ${String(code)}`, hint, cause);
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

function checkWriters(path: string, status: BigIntStats, uid: number): void {
  if (status.uid !== 0n && status.uid !== BigInt(uid)) {
    const owner = uid === 0 ? 'root' : 'root or you';
    const hint = `Run \`chown root ${path}\`, after a look at what it holds.`;
    throw fault(
      'config-not-owned-by-root',
      path,
      `belongs to UID ${status.uid}, not to ${owner}`,
      hint,
    );
  }
  const world = (status.mode & 0o002n) !== 0n;
  if (!world && (status.mode & 0o020n) === 0n) return;
  const who = world ? 'everybody' : `group ${status.gid}`;
  const hint = `Run \`chmod go-w ${path}\`, after a look at what it holds.`;
  throw fault('config-writable-by-others', path, `can be written by ${who}`, hint);
}

function fault(
  code: ErrorCode,
  path: string,
  found: string,
  hint: string,
  cause?: unknown,
): BerthError {
  return new BerthError(`${escapeControl(path)} ${found}`, {
    code,
    exit: 'config',
    hint: escapeControl(hint),
    fields: { file: path },
    cause,
  });
}
