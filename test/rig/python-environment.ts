import { createHash, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { ensurePackages } from './site/debian-packages.ts';
import { cacheDirectory } from './site/directories.ts';
import { withLock } from './site/lock.ts';
import { say, step } from './site/progress.ts';

/** Debian's, which the test images have, too. */
export const python = '/usr/bin/python3';

/**
 * Installs Python programs from PyPI in the cache, once for each list of requirements.
 *
 * @param name of the directory in the cache, and in messages
 * @param requirements path of the requirements.txt
 * @returns the directory, for PYTHONPATH; its `bin` has the programs
 */
export async function pythonEnvironment(name: string, requirements: string): Promise<string> {
  await ensurePackages(['python3', 'python3-pip', 'git']);
  const { stdout: version } = await execa(python, ['--version']);
  const key = createHash('sha256')
    .update(`${version}\n${await readFile(requirements, 'utf8')}`)
    .digest('hex');
  const directory = join(cacheDirectory, `${name}-${key.slice(0, 12)}`);
  const waiting = (): void => say(`… another process is installing ${name}`);
  if (!existsSync(directory))
    await withLock(`${directory}.lock`, waiting, async () => {
      if (existsSync(directory)) return;
      const unfinished = `${directory}.${randomUUID()}`;
      await step(`installing ${name} from PyPI`, () =>
        execa(python, [
          ...['-m', 'pip', 'install', '--quiet', '--root-user-action', 'ignore'],
          ...['--target', unfinished, '--requirement', requirements],
        ]),
      );
      await rename(unfinished, directory);
    });
  return directory;
}
