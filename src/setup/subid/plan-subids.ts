import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseSubordinateFile } from '../../system/identity/subordinate-file.ts';
import { writeError } from '../../system/atomic-file.ts';
import { ifExists } from '../../system/if-present.ts';
import { userDirectoryStatus } from '../../system/path-descriptor.ts';
import { ensureRootDirectory, ensureUserDirectory } from '../../system/safe-directories.ts';
import { type Accounts, readAccounts, type SubidAccountQuery } from './read-accounts.ts';
import { planSubordinateIds, type SubordinatePlan } from './rules/subordinate-plan.ts';
import type { SubordinateFileName, SubordinateLayout } from './rules/subordinate-input.ts';

export interface SubidInput extends SubidAccountQuery {
  /** Where to create the users' directories; absent if they were not asked for. */
  readonly storage?: string;
}

export interface SubidPlan extends SubordinatePlan {
  readonly layout: SubordinateLayout;
  readonly users: number;
  readonly files: Readonly<Record<SubordinateFileName, SubidFileText>>;
  readonly skipped: Accounts['skipped'];
  /** Other facts about this machine that the admin should know. */
  readonly notes: readonly string[];
  readonly directories?: StorageDirPlan;
}

export interface SubidFileText {
  /** The path before symbolic links are resolved. */
  readonly path: string;
  /** One character per byte; empty if there is no file. */
  readonly text: string;
}

/** What `berth subid apply` would do. Changes nothing. @throws {BerthError} the errors of `readAccounts` */
export async function planSubids(input: SubidInput): Promise<SubidPlan> {
  return planSubidsForAccounts(await readAccounts(input), input);
}

/** The plan for known accounts. `applySubids` calls it while the files are locked. */
export async function planSubidsForAccounts(
  accounts: Accounts,
  input: SubidInput,
): Promise<SubidPlan> {
  const { layout, prefix = '/', storage } = input;
  const [subuid, subgid, notes] = await Promise.all([
    fileBefore(join(prefix, 'etc/subuid')),
    fileBefore(join(prefix, 'etc/subgid')),
    notesOn(prefix),
  ]);
  const files = {
    subuid: parseSubordinateFile(subuid.text),
    subgid: parseSubordinateFile(subgid.text),
  };
  const { users, real, directory, skipped } = accounts;
  return {
    ...planSubordinateIds({ users, real, directory, layout, files }),
    layout,
    users: users.length,
    skipped,
    notes,
    files: { subuid, subgid },
    ...(storage !== undefined && { directories: planStorageDirs(storage, users) }),
  };
}

async function fileBefore(path: string): Promise<SubidFileText> {
  return { path, text: (await ifExists(readFile(path, 'latin1'))) ?? '' };
}

async function notesOn(prefix: string): Promise<string[]> {
  const text = await readFile(join(prefix, 'etc/nsswitch.conf'), 'utf8').catch(() => '');
  const source = /^\s*subid:\s*(\S.*)$/m.exec(text)?.[1]?.trim();
  if (source === undefined || /^files\b/.test(source)) return [];
  return [
    `nsswitch.conf has \`subid: ${source}\`: newuidmap uses that and does not read /etc/subuid and /etc/subgid`,
  ];
}

interface StorageDirPlan {
  readonly storage: string;
  /** Directories to create, or whose owner or mode is to be set. */
  readonly make: readonly UserStorageDir[];
  readonly present: number;
  /** Paths that are taken by something else, and left alone. */
  readonly foreign: readonly { readonly path: string; readonly reason: string }[];
}

interface UserStorageDir {
  readonly path: string;
  readonly uid: number;
  readonly gid: number;
}

/** Finds the directories `STORAGE/users/UID` that do not belong to the user with mode 0700 yet. */
function planStorageDirs(
  storage: string,
  users: readonly { readonly uid: number; readonly gid: number }[],
): StorageDirPlan {
  const make: UserStorageDir[] = [];
  const foreign: { path: string; reason: string }[] = [];
  let present = 0;
  for (const { uid, gid } of users) {
    const path = join(storage, 'users', String(uid));
    const status = userDirectoryStatus(path);
    if (status === undefined) make.push({ path, uid, gid });
    else if (!status.isDirectory()) foreign.push({ path, reason: 'it is not a directory' });
    else if (status.uid === uid && (status.mode & 0o7777) === 0o700) present += 1;
    // Root's: a run that was killed created it.
    else if (status.uid === uid || status.uid === 0) make.push({ path, uid, gid });
    else foreign.push({ path, reason: `it belongs to UID ${status.uid}` });
  }
  return { storage, make, present, foreign };
}

/**
 * Creates the directories, as the PAM hook does at a login.
 *
 * @throws {BerthError} `directory-unsafe` if users other than root can write above them; `disk-full`, … as `writeError`
 */
export function createStorageDirs({ storage, make }: StorageDirPlan): void {
  const users = join(storage, 'users');
  try {
    ensureRootDirectory(users);
    for (const { path, uid, gid } of make) ensureUserDirectory(path, { uid, gid });
  } catch (cause) {
    throw writeError(users, cause);
  }
}
