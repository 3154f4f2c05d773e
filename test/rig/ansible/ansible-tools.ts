import { join } from 'node:path';
import { pythonEnvironment } from '../python-environment.ts';

/**
 * Installs ansible-core and ansible-lint.
 *
 * @returns the variables that make `ansible-playbook` and its relatives runnable
 */
export async function ansibleEnvironment(): Promise<Readonly<Record<string, string>>> {
  const requirements = new URL('requirements.txt', import.meta.url).pathname;
  const directory = await pythonEnvironment('ansible', requirements);
  return {
    PATH: `${join(directory, 'bin')}:${process.env.PATH ?? ''}`,
    PYTHONPATH: directory,
    LANG: 'C.UTF-8',
  };
}
