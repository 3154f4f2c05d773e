import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

interface PackageJson {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
}

/**
 * The licences of the packages whose code is in the outputs, and of the Node that runs them. Each of them requires its text
 * to be distributed with the code.
 *
 * @param files paths of bundled sources, from esbuild's metafile
 * @param more directories of packages that are shipped as a whole
 * @throws {Error} for a package without a licence file
 */
export async function thirdPartyLicences(
  files: Iterable<string>,
  more: readonly string[] = [],
): Promise<string> {
  const folders = new Set(more);
  for (const file of files) {
    const folder = /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file)?.[0];
    if (folder !== undefined) folders.add(folder);
  }
  const texts = await Promise.all([...folders].sort().map(licenceOf));
  return texts.join(`\n${'-'.repeat(80)}\n\n`);
}

async function licenceOf(folder: string): Promise<string> {
  const { name, version, license } = JSON.parse(
    await readFile(join(folder, 'package.json'), 'utf8'),
  ) as PackageJson;
  const files = (await readdir(folder)).filter((file) => /^(?:licen[cs]e|notice)/i.test(file));
  if (files.length === 0) throw new Error(`${folder} has no licence file`);
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')));
  return `${name} ${version} (${license ?? 'see below'})\n\n${texts.join('\n')}`;
}
