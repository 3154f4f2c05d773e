import { constants } from 'node:fs';
import { lstat, open, rename, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { BerthError, expectErrno, isErrno, type ErrorCode } from './errors/berth-error.ts';
import { ifExists } from './if-present.ts';
import { isAbandoned, isTemporary, temporaryName } from './temporary-name.ts';
import { firstDirectoryNames } from './user-file.ts';

/** Complete new contents in a temporary file beside the file that they will replace. */
export interface StagedFile {
  /** The temporary file, for a check of the contents before they replace the file. */
  readonly temporary: string;
  /** Replaces the file atomically. @throws as `stageFile` */
  commit(): Promise<void>;
  /** Removes the temporary file. Does nothing after a commit. */
  discard(): Promise<void>;
}

/** A writer takes milliseconds. A temporary file of this age, in milliseconds, was left by a killed one of any host. */
const abandonedAfterMs = 10 * 60_000;

export interface WriteOptions {
  /** Permission bits of the new file, regardless of the umask. */
  readonly mode: number;
  /** Owner of the new file; that of the process if absent. */
  readonly owner?: { readonly uid: number; readonly gid: number };
  /**
   * True for contents that the next login can create again: the file is not synced to disk, which on a busy disk
   * takes longer than the rest of a login. A power failure may then leave the file empty.
   */
  readonly replaceable?: boolean;
  /** The path in errors, where the file is written through a descriptor of its directory. */
  readonly shownAs?: string;
}

/**
 * Replaces the file atomically: readers see the old contents or the new. A failure leaves the old file as it was,
 * and no temporary file.
 *
 * @throws {BerthError} `disk-full`, `disk-quota-exceeded`, `file-system-read-only`, `write-not-permitted`; other
 *   system errors unchanged
 */
export async function writeAtomically(
  path: string,
  contents: string | Uint8Array,
  options: WriteOptions,
): Promise<void> {
  const staged = await stageFile(path, contents, options);
  try {
    await staged.commit();
  } finally {
    await staged.discard();
  }
}

/**
 * The slow part of `writeAtomically`, for a caller that holds a lock only during the rename: the contents are on
 * disk when this returns, unless they are replaceable. Temporary files of killed writers are removed first.
 *
 * The directory is not synced: after a power failure the old file may be back, and the next login updates it.
 *
 * @throws as `writeAtomically`
 */
export async function stageFile(
  path: string,
  contents: string | Uint8Array,
  options: WriteOptions,
): Promise<StagedFile> {
  await removeAbandoned(path);
  const { shownAs = path } = options;
  const temporary = temporaryName(path);
  let there = false;
  const discard = async (): Promise<void> => {
    if (!there) return;
    there = false;
    await unlink(temporary);
  };
  try {
    const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
    const file = await open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    there = true;
    try {
      await file.writeFile(contents);
      if (options.owner !== undefined) await file.chown(options.owner.uid, options.owner.gid);
      await file.chmod(options.mode);
      // Not only against a power cut: some file systems report a full disk here, not at the write.
      if (options.replaceable !== true) await file.sync();
    } finally {
      await file.close();
    }
  } catch (cause) {
    await discard();
    throw writeError(shownAs, cause);
  }
  return {
    temporary,
    discard,
    commit: async () => {
      try {
        await rename(temporary, path);
        there = false;
      } catch (cause) {
        await discard();
        throw writeError(shownAs, cause);
      }
    },
  };
}

/** A known error of a write with a message for the admin; any other error unchanged. */
export function writeError(path: string, cause: unknown): unknown {
  if (!isErrno(cause)) return cause;
  const known = knownErrors[cause.code ?? ''];
  if (known === undefined) return cause;
  const [code, reason] = known;
  return new BerthError(code, `${path} cannot be written: ${reason}`, {
    fields: { file: path },
    cause,
  });
}

const knownErrors: Readonly<Record<string, readonly [ErrorCode, string] | undefined>> = {
  ENOSPC: ['disk-full', 'the disk is full'],
  EDQUOT: ['disk-quota-exceeded', 'the disk quota is used up'],
  EROFS: ['file-system-read-only', 'the file system is mounted read-only'],
  EACCES: ['write-not-permitted', 'permission denied'],
  EPERM: ['write-not-permitted', 'permission denied'],
};

/** Most names to read from a directory: a user may own it and create a million files in it. */
const mostNames = 10_000;

/** Removes what killed writers of this file left. Its own errors are ignored: it only tidies up. */
export async function removeAbandoned(path: string): Promise<void> {
  for (const name of await firstDirectoryNames(dirname(path), mostNames)) {
    if (!isTemporary(name, path)) continue;
    const leftover = join(dirname(path), name);
    try {
      const { mtimeMs } = await lstat(leftover);
      if (isAbandoned(name, path) || Date.now() - mtimeMs > abandonedAfterMs)
        await unlink(leftover);
    } catch (error) {
      // Another writer removed it, or the directory is not writable: then the write itself fails.
      expectErrno(error);
    }
  }
}

/**
 * Owner and mode of a configuration file, which its next version keeps.
 *
 * @returns undefined if there is no file
 * @throws {BerthError} `init-file-unsafe` for a symlink, a directory or a device; system errors
 */
export async function ownerAndMode(path: string): Promise<WriteOptions | undefined> {
  const status = await ifExists(lstat(path));
  if (status === undefined) return undefined;
  const { uid, gid, mode } = status;
  // A service without the right to change owners may write its own files.
  const own = uid === process.geteuid?.() && gid === process.getegid?.();
  if (status.isFile()) return { mode: mode & 0o777, ...(!own && { owner: { uid, gid } }) };
  throw new BerthError('init-file-unsafe', `${path} is not a regular file, and was not changed`, {
    fields: { file: path },
  });
}
