import type { SiteFile } from '../../site-repository/rules/site-files.ts';
import type { Terminal } from '../kit/terminal.ts';

/**
 * Writes what was rendered into a directory, and prints which files have changed.
 *
 * @throws {BerthError} those of `writeSite`
 */
export async function writeFiles(
  terminal: Terminal,
  directory: string,
  files: readonly SiteFile[],
): Promise<void> {
  const { writeSite } = await import('../../site-repository/write-site.ts');
  const changes = await writeSite(directory, files);
  const lines = changes
    .filter(({ change }) => change !== 'unchanged')
    .map(({ path, change }) => `${path}: ${change === 'kept' ? 'kept, it is yours' : change}\n`);
  terminal.stdout.write(lines.length === 0 ? 'nothing to change\n' : lines.join(''));
}
