import { readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { isErrno } from '../errors/berth-error.ts';
import { parseSubordinateFile } from '../identity/subordinate-file.ts';
import {
  type SubordinateFileName,
  planSubordinateIds,
  type SubordinateLayout,
  type SubordinatePlan,
} from './rules/subordinate-ids.ts';
import { type SubidAccountQuery, type Accounts, readAccounts } from './read-accounts.ts';
import { type StorageDirPlan, planStorageDirs } from './storage-dirs.ts';

export interface SubidInput extends SubidAccountQuery {
  readonly layout: SubordinateLayout;
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
  readonly lines: number;
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
  const { users, real, skipped } = accounts;
  return {
    ...planSubordinateIds({ users, real, layout, files }),
    layout,
    users: users.length,
    skipped,
    notes,
    files: {
      subuid: { ...subuid, lines: files.subuid.lines },
      subgid: { ...subgid, lines: files.subgid.lines },
    },
    ...(storage === undefined ? {} : { directories: planStorageDirs(storage, users) }),
  };
}

/** The file that `path` links to: a rename to `path` would replace the link. */
export async function resolveLink(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return path;
    throw error;
  }
}

async function fileBefore(path: string): Promise<Omit<SubidFileText, 'lines'>> {
  try {
    return { path, text: await readFile(path, 'latin1') };
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return { path, text: '' };
    throw error;
  }
}

async function notesOn(prefix: string): Promise<string[]> {
  const text = await readFile(join(prefix, 'etc/nsswitch.conf'), 'utf8').catch(() => '');
  const source = /^\s*subid:\s*(\S.*)$/m.exec(text)?.[1]?.trim();
  if (source === undefined || /^files\b/.test(source)) return [];
  return [
    `nsswitch.conf has \`subid: ${source}\`: newuidmap uses that and does not read /etc/subuid and /etc/subgid`,
  ];
}
