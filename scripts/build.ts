/**
 * Makes every output of the design's table: one executable file each, in `dist/`.
 *
 * `npm run build -- --node /usr/lib/berth/node` writes that interpreter into the `#!` line. The
 * path must be absolute: the files run as root and as login shells, where PATH is not to be trusted.
 */
import { createHash } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { isAbsolute, join } from 'node:path';
import { build } from 'esbuild';

const root = new URL('..', import.meta.url).pathname;

const { values } = parseArgs({
  options: {
    node: { type: 'string', default: process.execPath },
    out: { type: 'string', default: join(root, 'dist') },
  },
});
if (!isAbsolute(values.node)) throw new Error(`--node ${values.node}: an absolute path is wanted`);

const scripts = async (folder: string): Promise<string[]> =>
  (await readdir(join(root, folder)).catch(() => []))
    .filter((file) => file.endsWith('.ts'))
    .map((file) => join(folder, file));

const entries = [...(await scripts('hooks')), ...(await scripts('shell')), 'src/cli/berth.ts'];
const outputOf = (entry: string): string =>
  entry === 'src/cli/berth.ts' ? 'berth' : entry.replace(/\.ts$/, '');

const started = performance.now();
const buildId = await hashOfSources();
for (const entry of entries) {
  const result = await build({
    entryPoints: [join(root, entry)],
    bundle: true,
    write: false,
    platform: 'node',
    target: 'node22.19',
    format: 'cjs',
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'none',
    logLevel: 'warning',
    banner: { js: `#!${values.node}\n'use strict';` },
    define: { 'import.meta.url': '__filename', BERTH_BUILD: JSON.stringify(buildId) },
  });
  const [file] = result.outputFiles;
  if (file === undefined) throw new Error(`${entry}: esbuild gave nothing`);
  await install(join(values.out, outputOf(entry)), file.contents);
}
// Without it, Node would take the files for what the next package.json above them says.
await install(join(values.out, 'package.json'), Buffer.from('{ "type": "commonjs" }\n'), 0o644);
process.stderr.write(
  `built ${entries.length} files in ${Math.round(performance.now() - started)} ms\n`,
);

/** Replaces the file in one step, so that a login never meets half a hook. */
async function install(path: string, contents: Uint8Array, mode = 0o755): Promise<void> {
  await mkdir(join(path, '..'), { recursive: true });
  const temporary = `${path}.new`;
  await rm(temporary, { force: true });
  await writeFile(temporary, contents, { mode });
  await chmod(temporary, mode);
  await rename(temporary, path);
}

/** The same for the same sources and libraries: what one build checked, another reads anew. */
async function hashOfSources(): Promise<string> {
  const files = (await readdir(join(root, 'src'), { recursive: true }))
    .filter((file) => file.endsWith('.ts'))
    .map((file) => join('src', file));
  const hash = createHash('sha256');
  for (const file of [...files.sort(), 'package-lock.json']) {
    hash.update(`${file}\0`).update(await readFile(join(root, file)));
  }
  return hash.digest('hex').slice(0, 16);
}
