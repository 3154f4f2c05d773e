import { createHash, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { ensurePackages } from '../site/debian-packages.ts';
import { cacheDirectory } from '../site/directories.ts';
import { withLock } from '../site/lock.ts';
import { say, step } from '../site/progress.ts';

const requirements = new URL('requirements.txt', import.meta.url).pathname;

/**
 * Installs ansible-core and ansible-lint from PyPI in the cache, for this machine's Python.
 *
 * @returns the variables that make `ansible-playbook` and its relatives runnable
 */
export async function ansibleEnvironment(): Promise<Readonly<Record<string, string>>> {
  await ensurePackages(['python3', 'python3-pip', 'git']);
  const { stdout: python } = await execa('python3', ['--version']);
  const key = createHash('sha256')
    .update(`${python}\n${await readFile(requirements, 'utf8')}`)
    .digest('hex');
  const directory = join(cacheDirectory, `ansible-${key.slice(0, 12)}`);
  const waiting = (): void => say('… another process is installing Ansible');
  if (!existsSync(directory))
    await withLock(`${directory}.lock`, waiting, async () => {
      if (existsSync(directory)) return;
      const unfinished = `${directory}.${randomUUID()}`;
      await step('installing Ansible from PyPI', () =>
        execa('python3', [
          ...['-m', 'pip', 'install', '--quiet', '--root-user-action', 'ignore'],
          ...['--target', unfinished, '--requirement', requirements],
        ]),
      );
      await rename(unfinished, directory);
    });
  return {
    PATH: `${join(directory, 'bin')}:${process.env.PATH ?? ''}`,
    PYTHONPATH: directory,
    LANG: 'C.UTF-8',
  };
}
