import { createHash } from 'node:crypto';
import { BerthError } from '../../system/errors/berth-error.ts';
import { type DirectoryTree, inDirectory } from '../../system/directory-tree.ts';

/** The SHA-256 of what Berth wrote to each file of the directory, by which it knows them again. */
const recordName = '.berth-site.json';

export interface RenderedFile {
  /** Relative to the directory. */
  readonly path: string;
  readonly text: string;
}

export interface RenderedChange {
  readonly path: string;
  readonly change: 'new' | 'changed' | 'removed' | 'unchanged';
}

/** By path. While a run writes, a file has two sums: that of its text before, and the new one. */
type SumsOfFiles = ReadonlyMap<string, readonly string[]>;

/**
 * Writes the files into the directory, and removes those that it wrote before and that are no longer wanted. Files that
 * somebody edited make it write nothing. If it is interrupted, the next run completes it.
 *
 * The directory may be another user's: root may write into an admin's work tree.
 *
 * @returns in the order of `files`
 * @throws {BerthError} `site-file-edited`, and those of `DirectoryTree`
 */
export async function writeDirectory(
  directory: string,
  files: readonly RenderedFile[],
): Promise<readonly RenderedChange[]> {
  return await inDirectory(directory, async (tree) => {
    const record = readRecord(tree);
    const { changes, edited } = planChanges(tree, files, record);
    if (edited.length > 0)
      throw new BerthError(
        'site-file-edited',
        `${edited.join(', ')} in ${directory} ${edited.length === 1 ? 'is' : 'are'} not as Berth wrote ${edited.length === 1 ? 'it' : 'them'}; nothing was changed`,
      );
    await carryOut(tree, files, changes, record);
    return changes;
  });
}

function planChanges(
  tree: DirectoryTree,
  files: readonly RenderedFile[],
  record: SumsOfFiles,
): { readonly changes: readonly RenderedChange[]; readonly edited: readonly string[] } {
  const changes: RenderedChange[] = [];
  const edited: string[] = [];
  for (const { path, text } of files) {
    const before = tree.read(path);
    if (before === undefined) changes.push({ path, change: 'new' });
    else if (before === text) changes.push({ path, change: 'unchanged' });
    else if (isOwn(record, path, before)) changes.push({ path, change: 'changed' });
    else edited.push(path);
  }
  const wanted = new Set(files.map(({ path }) => path));
  for (const path of record.keys()) {
    if (wanted.has(path)) continue;
    const before = tree.read(path);
    if (before === undefined) continue;
    if (isOwn(record, path, before)) changes.push({ path, change: 'removed' });
    else edited.push(path);
  }
  return { changes, edited };
}

async function carryOut(
  tree: DirectoryTree,
  files: readonly RenderedFile[],
  changes: readonly RenderedChange[],
  record: SumsOfFiles,
): Promise<void> {
  const sums = new Map(files.map(({ path, text }) => [path, [sum(text)]]));
  const meanwhile = new Map(record);
  for (const [path, [now = '']] of sums)
    meanwhile.set(path, [...new Set(record.get(path)).add(now)]);
  await writeRecord(tree, meanwhile);
  const texts = new Map(files.map(({ path, text }) => [path, text]));
  for (const { path, change } of changes) {
    if (change === 'removed') tree.remove(path);
    if (change === 'new' || change === 'changed') await tree.write(path, texts.get(path) ?? '');
  }
  await writeRecord(tree, sums);
}

const sum = (text: string): string => createHash('sha256').update(text).digest('hex');

function isOwn(record: SumsOfFiles, path: string, text: string): boolean {
  return record.get(path)?.includes(sum(text)) === true;
}

function readRecord(tree: DirectoryTree): SumsOfFiles {
  // Somebody else's would name files of others to be removed.
  const text = tree.read(recordName, true);
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

async function writeRecord(tree: DirectoryTree, sums: SumsOfFiles): Promise<void> {
  const sorted = [...sums].sort(([a], [b]) => (a < b ? -1 : 1));
  const text = `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`;
  if (tree.read(recordName) !== text) await tree.write(recordName, text);
}
