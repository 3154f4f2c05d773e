import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

interface PackageJson {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
}

/**
 * The texts of the licences of the packages whose code is in the outputs, and of Node. The licences require
 * that they are distributed with the code.
 *
 * @param files paths of bundled sources, from esbuild's metafile
 * @param more directories of packages that are installed completely
 * @throws Error for a package without a licence file
 */
export async function thirdPartyLicences(
  files: Iterable<string>,
  more: readonly string[] = [],
): Promise<string> {
  const directories = new Set(more);
  for (const file of files) {
    const directory = /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file)?.[0];
    if (directory !== undefined) directories.add(directory);
  }
  const texts = await Promise.all([...directories].sort().map(licenceOf));
  return texts.join(`\n${'-'.repeat(80)}\n\n`);
}

async function licenceOf(directory: string): Promise<string> {
  const { name, version, license } = JSON.parse(
    await readFile(join(directory, 'package.json'), 'utf8'),
  ) as PackageJson;
  const files = (await readdir(directory)).filter((file) => /^(?:licen[cs]e|notice)/i.test(file));
  if (files.length === 0) throw new Error(`${directory} has no licence file`);
  const texts = await Promise.all(files.map((file) => readFile(join(directory, file), 'utf8')));
  return `${name} ${version} (${license ?? 'see below'})\n\n${texts.join('\n')}`;
}
