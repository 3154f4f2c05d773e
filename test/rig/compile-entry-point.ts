import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { singleFile } from '../../scripts/single-file.ts';

const root = new URL('../..', import.meta.url).pathname;

/** Builds an entry point, as scripts/build.ts does, into the directory. @returns the path of the executable */
export async function compileEntryPoint(entry: string, directory: string): Promise<string> {
  const banner = `#!${process.execPath}`;
  const { text } = await singleFile(join(root, entry), { banner, define: {} });
  const path = join(directory, entry.replace(/^.*\/|\.ts$/g, ''));
  await writeFile(path, text);
  await chmod(path, 0o755);
  return path;
}
