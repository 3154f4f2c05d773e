import { createHash } from 'node:crypto';
import { lstat, mkdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { BerthError, isErrno } from '../errors/berth-error.ts';
import { writeAtomically } from '../system/atomic-file.ts';
import type { SiteFile } from './rules/site-files.ts';

/** In the repository: the SHA-256 of what Berth wrote to each of its files, by which it knows them again. */
const recordName = '.berth-site.json';

export interface SiteChange {
  readonly path: string;
  readonly change: 'new' | 'changed' | 'removed' | 'unchanged' | 'kept';
}

/** By path. While a run writes, a file has two sums: that of its text before, and the new one. */
type SumsOfFiles = ReadonlyMap<string, readonly string[]>;

/**
 * Writes the files into the directory, and removes those that it wrote before and that are no longer wanted. Files that
 * somebody edited make it write nothing. If it is interrupted, the next run completes it.
 *
 * @returns in the order of `files`
 * @throws {BerthError} `site-file-edited`, `site-directory-unsafe`, and those of `writeAtomically`
 */
export async function writeSite(
  directory: string,
  files: readonly SiteFile[],
): Promise<readonly SiteChange[]> {
  await mkdir(directory, { recursive: true });
  for (const { path } of files) await assertPlain(directory, path);
  const record = await readRecord(join(directory, recordName));
  const changes: SiteChange[] = [];
  const edited: string[] = [];
  for (const { path, text, once } of files) {
    const before = await textOf(join(directory, path));
    if (before === undefined) changes.push({ path, change: 'new' });
    else if (before === text) changes.push({ path, change: 'unchanged' });
    else if (once === true) changes.push({ path, change: 'kept' });
    else if (isOwn(record, path, before)) changes.push({ path, change: 'changed' });
    else edited.push(path);
  }
  const wanted = new Set(files.map(({ path }) => path));
  for (const path of record.keys()) {
    if (wanted.has(path)) continue;
    await assertPlain(directory, path);
    const before = await textOf(join(directory, path));
    if (before === undefined) continue;
    if (isOwn(record, path, before)) changes.push({ path, change: 'removed' });
    else edited.push(path);
  }
  if (edited.length > 0) throw editedError(directory, edited);
  await carryOut(directory, files, changes, record);
  return changes;
}

async function carryOut(
  directory: string,
  files: readonly SiteFile[],
  changes: readonly SiteChange[],
  record: SumsOfFiles,
): Promise<void> {
  const own = files.filter(({ once }) => once !== true);
  const sums = new Map(own.map(({ path, text }) => [path, [sum(text)]]));
  const meanwhile = new Map(record);
  for (const [path, [now = '']] of sums)
    meanwhile.set(path, [...new Set(record.get(path)).add(now)]);
  const recordFile = join(directory, recordName);
  await writeRecord(recordFile, meanwhile);
  const texts = new Map(files.map(({ path, text }) => [path, text]));
  for (const { path, change } of changes) {
    const file = join(directory, path);
    if (change === 'removed') await rm(file);
    if (change !== 'new' && change !== 'changed') continue;
    await mkdir(dirname(file), { recursive: true });
    await writeAtomically(file, texts.get(path) ?? '', { mode: 0o644 });
  }
  await writeRecord(recordFile, sums);
}

const sum = (text: string): string => createHash('sha256').update(text).digest('hex');

function isOwn(record: SumsOfFiles, path: string, text: string): boolean {
  return record.get(path)?.includes(sum(text)) === true;
}

/** Nothing is written through a symlink, nor outside the directory. */
async function assertPlain(directory: string, path: string): Promise<void> {
  const parts = path.split('/');
  if (parts.some((part) => ['', '.', '..'].includes(part))) throw unsafe(path);
  for (const [index] of parts.entries()) {
    const place = join(directory, ...parts.slice(0, index + 1));
    try {
      const status = await lstat(place);
      const last = index === parts.length - 1;
      if (last ? !status.isFile() : !status.isDirectory()) throw unsafe(place);
    } catch (error) {
      if (isErrno(error, 'ENOENT')) return;
      throw error;
    }
  }
}

/** The directory may be another user's: root may write into an admin's work tree. */
async function textOf(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}

async function readRecord(file: string): Promise<SumsOfFiles> {
  await assertPlain(dirname(file), recordName);
  const text = await textOf(file);
  if (text === undefined) return new Map();
  try {
    const entries = Object.entries(JSON.parse(text) as Record<string, unknown>);
    return new Map(
      entries.map(([path, sums]) => [path, Array.isArray(sums) ? sums.map(String) : []]),
    );
  } catch {
    // Without the record, every file that differs counts as edited.
    return new Map();
  }
}

async function writeRecord(file: string, sums: SumsOfFiles): Promise<void> {
  const sorted = [...sums].sort(([a], [b]) => (a < b ? -1 : 1));
  const text = `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`;
  if ((await textOf(file)) !== text) await writeAtomically(file, text, { mode: 0o644 });
}

function editedError(directory: string, edited: readonly string[]): BerthError {
  return new BerthError(
    `${edited.join(', ')} in ${directory} ${edited.length === 1 ? 'is' : 'are'} not as Berth wrote ${edited.length === 1 ? 'it' : 'them'}; nothing was changed`,
    { code: 'site-file-edited' },
  );
}

function unsafe(path: string): BerthError {
  return new BerthError(`${path} is a symlink, or no regular file or directory`, {
    code: 'site-directory-unsafe',
  });
}
