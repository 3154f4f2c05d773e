import { access } from 'node:fs/promises';
import { execa } from 'execa';
import { withLock } from './lock.ts';
import { say, step } from './progress.ts';

/** The lists of a fresh machine are old or empty; they are fetched once per process. */
let listsAreFresh = false;

/** Which of these Debian packages are not installed. */
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
 * Makes sure that Debian packages are there: installs what is missing when we are root, without
 * starting their services.
 *
 * @throws Error naming the packages and the command when we are not root
 */
export async function ensurePackages(packages: readonly string[]): Promise<void> {
  const missing = await missingPackages(packages);
  if (missing.length === 0) return;
  if (process.getuid?.() !== 0) {
    throw new Error(
      `missing Debian packages: ${missing.join(' ')}\nnext: sudo apt-get install ${missing.join(' ')}`,
    );
  }
  const waiting = (): void => say('… another process installs Debian packages');
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
 * Makes sure that a command is there, whoever installed it (a Go or a JDK need not be Debian's);
 * installs the Debian package that has it otherwise.
 */
export async function ensureCommand(command: string, debianPackage: string): Promise<void> {
  const folders = (process.env.PATH ?? '').split(':');
  const found = await Promise.any(folders.map((folder) => access(`${folder}/${command}`))).then(
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
