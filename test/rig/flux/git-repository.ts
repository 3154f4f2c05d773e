import { existsSync } from 'node:fs';
import { execa } from 'execa';

const author = ['-c', 'user.name=admin', '-c', 'user.email=admin@example.org'];

/**
 * Commits everything in a directory to its branch `main`, and pushes it.
 *
 * @param bare the served repository, made if it is missing
 * @returns the commit
 */
export async function publish(directory: string, bare: string, message: string): Promise<string> {
  const git = (...args: string[]): Promise<{ stdout: string }> =>
    execa('git', args, { cwd: directory });
  const exists = existsSync(bare);
  if (!exists) await git('init', '--quiet', '--initial-branch=main');
  await git('add', '.');
  await git(...author, 'commit', '--quiet', '-m', message);
  if (exists) await git('push', '--quiet', bare, 'main');
  else await git('clone', '--quiet', '--bare', '.', bare);
  return (await git('rev-parse', 'HEAD')).stdout;
}
