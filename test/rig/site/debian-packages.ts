import { access } from 'node:fs/promises';
import { execa } from 'execa';
import { withLock } from './lock.ts';
import { say, step } from './progress.ts';

/** Package lists are updated once per process: on a fresh machine they are old or empty. */
let listsAreFresh = false;

/** Returns the packages that are not installed. */
async function missingPackages(packages: readonly string[]): Promise<string[]> {
  const { stdout } = await execa(
    'dpkg-query',
    ['--show', '--showformat=${db:Status-Status} ${Package}\n', ...packages],
    { reject: false },
  );
  const installed = new Set(stdout.split('\n').map((line) => /^installed (.*)$/.exec(line)?.[1]));
  return packages.filter((name) => !installed.has(name));
}

/**
 * Installs missing Debian packages as root, without starting their services.
 *
 * @throws Error with the packages and the command to install them, if this process is not root
 */
export async function ensurePackages(packages: readonly string[]): Promise<void> {
  const missing = await missingPackages(packages);
  if (missing.length === 0) return;
  if (process.getuid?.() !== 0) {
    throw new Error(
      `missing Debian packages: ${missing.join(' ')}\nnext: sudo apt-get install ${missing.join(' ')}`,
    );
  }
  const waiting = (): void => say('… another process is installing Debian packages');
  await withLock('/run/lock/berth-test-packages.lock', waiting, async () => {
    const still = await missingPackages(packages);
    if (still.length === 0) return;
    if (!listsAreFresh) await step('apt-get update', () => apt(['update']));
    listsAreFresh = true;
    await step(`installing Debian packages ${still.join(' ')}`, () =>
      apt(['install', '--yes', '--no-install-recommends', ...still]),
    );
  });
}

/**
 * Installs a Debian package if its command is not in PATH. The command may come from another source, for
 * example Go or a JDK.
 */
export async function ensureCommand(command: string, debianPackage: string): Promise<void> {
  const directories = (process.env.PATH ?? '').split(':');
  const found = await Promise.any(
    directories.map((directory) => access(`${directory}/${command}`)),
  ).then(
    () => true,
    () => false,
  );
  if (found) return;
  say(`${command} is not in PATH`);
  await ensurePackages([debianPackage]);
}

async function apt(args: readonly string[]): Promise<void> {
  await execa('apt-get', ['--quiet', ...args], {
    env: { DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' },
  });
}
