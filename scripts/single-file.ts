import { readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import { build, transform, type BuildOptions, type Metafile, type Plugin } from 'esbuild';
import { linesWith } from '../src/system/program/source-text.ts';

export interface SingleFile {
  readonly text: string;
  /** Paths of the sources whose code it contains. */
  readonly sources: readonly string[];
}

/**
 * Bundles an entry into one CommonJS file that starts fast. Static imports become code. Modules that are imported with
 * `import()` are contained as text, and compiled when they are first needed: V8 scans all code at each start, even if it
 * does not run, and YAML, schemas and diffs would cost a later login 5 ms that does not need them.
 *
 * @param banner the `#!` line and the line for a shell
 */
export async function singleFile(
  entry: string,
  { banner, define }: { readonly banner: string; readonly define: Record<string, string> },
): Promise<SingleFile> {
  const options: BuildOptions & { write: false; metafile: true } = {
    entryPoints: [entry],
    bundle: true,
    splitting: true,
    write: false,
    metafile: true,
    outdir: 'out',
    chunkNames: '[name]-[hash]',
    platform: 'node',
    target: 'node22.19',
    format: 'esm',
    minify: true,
    legalComments: 'none',
    logLevel: 'warning',
    define,
    plugins: [sourceTexts],
  };
  const { outputFiles, metafile } = await build(options);
  for (const { entryPoint } of Object.values(metafile.outputs))
    if (entryPoint?.includes('node_modules'))
      throw new Error(
        `${entry}: import() of ${entryPoint}: import it from a module in src, because esbuild provides only its default export`,
      );
  const sources = new Map<string, string>();
  for (const file of outputFiles) sources.set(basename(file.path), await toCommonJs(file.text));

  const main = Object.entries(metafile.outputs).find(([, { entryPoint }]) =>
    entryPoint === undefined ? false : entry.endsWith(entryPoint),
  )?.[0];
  if (main === undefined) throw new Error(`${entry}: esbuild produced no output`);
  const eager = staticallyReached(main, metafile.outputs);
  const [code, text] = partition([...sources], ([name]) => eager.has(name));
  const file = [
    banner,
    `'use strict';`,
    clock,
    // Function bodies, as for modules that are compiled from text.
    `const code={${code.map(([name, source]) => `${JSON.stringify(name)}(require,module,exports){${source}\n}`).join(',\n')}};`,
    `const text={${text.map(([name, source]) => `${JSON.stringify(name)}:${JSON.stringify(packed(source))}`).join(',\n')}};`,
    loader,
    `load(${JSON.stringify(basename(main))});`,
    '',
  ].join('\n');
  return { text: file, sources: inOutputs(metafile.outputs) };
}

/** Puts the text of a file in the place of each call of `sourceText` (`src/system/program/source-text.ts`). */
const sourceTexts: Plugin = {
  name: 'source-text',
  setup(bundler) {
    bundler.onLoad({ filter: /\/src\/.*\.ts$/ }, async ({ path }) => {
      const source = await readFile(path, 'utf8');
      const calls = /\bsourceText\(\s*'([^']+)',\s*import\.meta\.url,?\s*(?:'([^']+)',?\s*)?\)/g;
      if (/(?<!function )\bsourceText\(/.test(source.replace(calls, '')))
        throw new Error(`${path}: sourceText must be called with literals and import.meta.url`);
      const texts = [...source.matchAll(calls)].map(async ([, file = '', lines]) =>
        literal(linesWith(await readFile(join(dirname(path), file), 'utf8'), lines)),
      );
      const inOrder = (await Promise.all(texts)).values();
      return {
        contents: source.replace(calls, () => inOrder.next().value ?? ''),
        loader: 'ts',
      };
    });
  },
};

function inOutputs(outputs: Metafile['outputs']): string[] {
  return Object.values(outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? path : [])),
  );
}

/** Larger modules and texts are deflated: V8 then scans a third of their size at each start. Bytes. */
const worthPacking = 32 * 1024;

/** JavaScript whose value is the text. Without an import, because that would load zlib at each start. */
function literal(text: string): string {
  return text.length < worthPacking
    ? JSON.stringify(text)
    : `process.getBuiltinModule('node:zlib').inflateRawSync(Buffer.from('${deflated(text)}','base64')).toString()`;
}

/** `!` and the deflated text in base64, or the text itself. No module begins with `!`. */
function packed(source: string): string {
  return source.length < worthPacking ? source : `!${deflated(source)}`;
}

/** In base64. */
function deflated(text: string): string {
  return deflateRawSync(text, { level: 9 }).toString('base64');
}

/** At its first use, Node's own `performance` loads nine modules, which takes two milliseconds. Both count from the start of the process. */
const clock = `Object.defineProperty(globalThis,'performance',{value:{now:()=>process.uptime()*1000}});`;

/** Loads a module by its name and runs it once. Other names are Node's modules. */
const loader = `const loaded={};
function unpacked(source){
  if(source[0]!=='!')return source;
  return require('node:zlib').inflateRawSync(Buffer.from(source.slice(1),'base64')).toString();
}
function load(name){
  const known=loaded[name];
  if(known!==undefined)return known.exports;
  const module=loaded[name]={exports:{}};
  const run=code[name]??new Function('require','module','exports',unpacked(text[name])+'\\n//# sourceURL='+__filename+'/'+name);
  run(wanted=>wanted.startsWith('./')?load(wanted.slice(2)):require(wanted),module,module.exports);
  return module.exports;
}`;

async function toCommonJs(source: string): Promise<string> {
  const { code } = await transform(source, {
    format: 'cjs',
    platform: 'node',
    target: 'node22.19',
    minify: true,
    legalComments: 'none',
    // A native import() would start Node's ESM loader.
    supported: { 'dynamic-import': false },
    // yargs uses it to find translations, which are not included, and a package.json: in `/` instead of the working
    // directory, where users could write one, or a FIFO.
    define: { 'import.meta.url': '"file:///node_modules/yargs"' },
  });
  return code;
}

interface Output {
  readonly imports: readonly { readonly path: string; readonly kind: string }[];
}

function staticallyReached(
  from: string,
  outputs: Readonly<Record<string, Output>>,
  reached = new Set<string>(),
): ReadonlySet<string> {
  reached.add(basename(from));
  for (const { path, kind } of outputs[from]?.imports ?? [])
    if (kind === 'import-statement' && path in outputs && !reached.has(basename(path)))
      staticallyReached(path, outputs, reached);
  return reached;
}

function partition<T>(all: readonly T[], test: (one: T) => boolean): [T[], T[]] {
  return [all.filter(test), all.filter((one) => !test(one))];
}
