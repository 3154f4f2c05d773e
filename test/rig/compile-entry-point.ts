import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';

const root = new URL('../..', import.meta.url).pathname;

/** Compiles an entry point, as scripts/build.ts does, into the directory. @returns the path of the executable */
export async function compileEntryPoint(entry: string, directory: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(root, entry)],
    bundle: true,
    write: false,
    platform: 'node',
    target: 'node22.19',
    format: 'cjs',
    minifySyntax: true,
    minifyWhitespace: true,
    banner: { js: `#!${process.execPath}\n'use strict';` },
    define: { 'import.meta.url': '__filename' },
  });
  const path = join(directory, entry.replace(/^.*\/|\.ts$/g, ''));
  await writeFile(path, outputFiles[0]?.contents ?? '');
  await chmod(path, 0o755);
  return path;
}
