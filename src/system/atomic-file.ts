import { constants } from 'node:fs';
import { lstat, open, rename, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { BerthError, type ErrorCode, isErrno } from '../errors.ts';
import { isOfDead, markPattern, processMark } from './process-mark.ts';
import { randomDigits } from './random-digits.ts';
import { someNamesIn } from './user-file.ts';

/** New contents that lie complete beside the file they will replace. */
export interface StagedFile {
  /** Puts them in the file's place in one step. @throws as `stageFile` */
  commit(): Promise<void>;
  /** Gives them up; the file stays as it was. Does nothing after a commit. */
  discard(): Promise<void>;
}

/**
 * A writer takes milliseconds; what is this old was left by one that was killed, on another host
 * maybe. In milliseconds.
 */
const abandonedAfter = 10 * 60_000;

export interface WriteOptions {
  /** Permission bits of the new file, whatever the umask is. */
  readonly mode: number;
  /** Whose the new file is to be; the process's own where absent. */
  readonly owner?: { readonly uid: number; readonly gid: number };
  /**
   * True for what the next login makes anew: it is not waited for until it is on the disk, which on a
   * busy one takes longer than all the rest of a login. A power cut may leave the file empty then.
   */
  readonly replaceable?: boolean;
}

/**
 * Replaces the file in one step: whoever reads it meets the old contents or the new, never half.
 * A failure leaves the old file untouched and nothing beside it.
 *
 * @throws `disk-full`, `disk-quota-exceeded`, `read-only`, `write-not-permitted`; other errors of the system as
 *   they are
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
 * The slow half of `writeAtomically`, for a caller that wants to hold a lock only for the rename:
 * everything is on the disk when this returns, unless it is replaceable. What a killed writer left is
 * swept up first.
 *
 * The folder is not synced: after a power cut the old file may be back, and the next login mends it.
 *
 * @throws as `writeAtomically`
 */
export async function stageFile(
  path: string,
  contents: string | Uint8Array,
  options: WriteOptions,
): Promise<StagedFile> {
  await sweep(path);
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
    throw writeError(path, cause);
  }
  return {
    discard,
    commit: async () => {
      try {
        await rename(temporary, path);
        there = false;
      } catch (cause) {
        await discard();
        throw writeError(path, cause);
      }
    },
  };
}

/** What went wrong at a write, in the admin's words where it is known; else as it was. */
export function writeError(path: string, cause: unknown): unknown {
  if (!isErrno(cause)) return cause;
  const known = knownErrors[cause.code ?? ''];
  if (known === undefined) return cause;
  return new BerthError(`${path} cannot be written: ${known.reason}`, {
    code: known.code,
    exit: known.exit,
    hint: known.hint,
    fields: { file: path },
    cause,
  });
}

const readOnly = {
  code: 'file-system-read-only',
  reason: 'the file system is mounted read-only',
  exit: 'io',
  hint: 'Mount it read-write on this host.',
} as const;
const notPermitted = {
  code: 'write-not-permitted',
  reason: 'permission denied',
  exit: 'permission',
  hint: 'Look at owner and mode of the folder with `namei -l`, as that user: root may see more.',
} as const;
const quotaExceeded = {
  code: 'disk-quota-exceeded',
  reason: 'the disk quota is used up',
  exit: 'io',
  hint: 'Free some space or raise the quota; the next login tries again.',
} as const;
const knownErrors: Readonly<
  Record<
    string,
    | {
        readonly code: ErrorCode;
        readonly reason: string;
        readonly exit: 'io' | 'permission';
        readonly hint: string;
      }
    | undefined
  >
> = {
  ENOSPC: {
    code: 'disk-full',
    reason: 'the disk is full',
    exit: 'io',
    hint: 'Free some space or inodes (`df`, `df -i`); the next login tries again.',
  },
  EDQUOT: quotaExceeded,
  EROFS: readOnly,
  EACCES: notPermitted,
  EPERM: notPermitted,
};

/**
 * `.config.berth-MARK-0123456789abcdef`: a new name beside the file, hidden, and known by its pattern
 * to later writers, which remove it when the process of the mark is gone.
 */
export function temporaryName(path: string): string {
  const own = `${processMark()}-${randomDigits(16)}`;
  return join(dirname(path), temporaryStem(path) + own);
}

const unique = new RegExp(`^(?:(${markPattern})-)?[0-9a-f]{16}$`);

function temporaryStem(path: string): string {
  return `.${basename(path)}.berth-`;
}

/** The folder may be a user's, who can put a million files into it. */
const mostNames = 10_000;

/** Removes what killed writers of this file left. Only tidiness: its own errors stop no write. */
async function sweep(path: string): Promise<void> {
  const stem = temporaryStem(path);
  const folder = dirname(path);
  for (const name of await someNamesIn(folder, mostNames)) {
    if (!name.startsWith(stem)) continue;
    const [whole, mark] = unique.exec(name.slice(stem.length)) ?? [];
    if (whole === undefined) continue;
    const leftover = join(folder, name);
    try {
      const { mtimeMs } = await lstat(leftover);
      const dead = mark !== undefined && isOfDead(mark);
      if (dead || Date.now() - mtimeMs > abandonedAfter) await unlink(leftover);
    } catch (error) {
      // Another writer was quicker, or the folder is not ours to tidy: the write itself will tell.
      if (!isErrno(error)) throw error;
    }
  }
}
