import { basename, dirname } from 'node:path';
import type { Terminal } from '../kit/terminal.ts';
import type { RenderedFile } from './write-directory.ts';

/**
 * Writes what was rendered into a directory, and prints which files have changed.
 *
 * @throws {BerthError} those of `writeDirectory`
 */
export async function writeFiles(
  terminal: Terminal,
  directory: string,
  files: readonly RenderedFile[],
): Promise<void> {
  const { writeDirectory } = await import('./write-directory.ts');
  const changes = await writeDirectory(directory, files);
  const lines = changes
    .filter(({ change }) => change !== 'unchanged')
    .map(({ path, change }) => `${path}: ${change}\n`);
  terminal.stdout.write(lines.length === 0 ? 'nothing to change\n' : lines.join(''));
}

/**
 * Writes one file for all to read, and prints its path if its contents have changed.
 *
 * @throws {BerthError} those of `DirectoryTree`
 */
export async function writeIfChanged(
  terminal: Terminal,
  file: string,
  contents: string,
): Promise<void> {
  const { inDirectory } = await import('../../system/directory-tree.ts');
  await inDirectory(dirname(file), async (tree) => {
    const name = basename(file);
    const before = tree.read(name);
    if (before === contents) return;
    await tree.write(name, contents);
    terminal.stdout.write(`${file}: ${before === undefined ? 'new' : 'changed'}\n`);
  });
}
