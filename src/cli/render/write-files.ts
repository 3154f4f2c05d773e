import { escapedForTerminal } from '../../log.ts';
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
    .map(({ path, change }) => `${escapedForTerminal(path)}: ${change}\n`);
  terminal.stdout.write(lines.length === 0 ? 'nothing to change\n' : lines.join(''));
}
