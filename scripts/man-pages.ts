import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { root } from './all-commands.ts';
import { commandPages, type ManPage, type Release } from './man/command-pages.ts';
import { filePages } from './man/file-pages.ts';
import { loginPage } from './man/berth-login.ts';

/** All manual pages, from the help of the program and the schemas of the configuration. */
export function manPages(release: Release): ManPage[] {
  const others = [...filePages(release), loginPage(release)];
  return [...commandPages(root, release, others), ...others];
}

/**
 * Writes them below `man5` and `man8` of a directory, compressed as packages have them.
 *
 * @returns their paths in the directory
 */
export async function writeManPages(directory: string, release: Release): Promise<string[]> {
  const written: string[] = [];
  for (const { file, roff } of manPages(release)) {
    const section = `man${file.slice(-1)}`;
    await mkdir(join(directory, section), { recursive: true });
    written.push(join(section, `${file}.gz`));
    await writeFile(join(directory, section, `${file}.gz`), gzipSync(roff, { level: 9 }));
  }
  return written;
}
