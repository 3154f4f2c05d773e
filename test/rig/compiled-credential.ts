import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';

const root = new URL('../..', import.meta.url).pathname;

/** An entry point as scripts/build.ts makes it, in a folder of the test's own. */
export async function compiled(entry: string, folder: string): Promise<string> {
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
  const path = join(folder, entry.replace(/^.*\/|\.ts$/g, ''));
  await writeFile(path, outputFiles[0]?.contents ?? '');
  await chmod(path, 0o755);
  return path;
}
