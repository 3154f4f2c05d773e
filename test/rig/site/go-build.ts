import { createHash, randomUUID } from 'node:crypto';
import { access, copyFile, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { cacheFolder } from './folders.ts';
import { withLock } from './lock.ts';
import { say, step } from './progress.ts';

/** Programs that are built together from one Go module of ours, which pins what they are made of. */
export interface GoBuild<Names extends string> {
  /** First part of the folder's name in the cache, with the version: `kubernetes-v1.36.3`. */
  readonly name: string;
  /** Folder of the module. */
  readonly module: string;
  /** Folder in it of another go.mod and go.sum to build by than the module's own. */
  readonly versions?: string;
  /** Sources in the module besides go.mod and go.sum. */
  readonly sources?: readonly string[];
  /** The package of each program. */
  readonly programs: Readonly<Record<Names, string>>;
  readonly flags: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** One of the modules, built with a file of it changed. */
  readonly patch?: ModulePatch;
}

export interface ModulePatch {
  /** The module's path, without a version. */
  readonly of: string;
  /** A file in it. */
  readonly file: string;
  readonly change: { readonly from: string; readonly to: string };
}

/**
 * The programs' paths: from the cache folder, or built from the Go module proxy. The cache's key is
 * what the build is made from.
 */
export async function goPrograms<Names extends string>(
  wanted: GoBuild<Names>,
): Promise<Readonly<Record<Names, string>>> {
  const folder = join(cacheFolder, `${wanted.name}-${await key(wanted)}`);
  const names = Object.keys(wanted.programs) as Names[];
  // One builds at a time, and who waited finds what was built.
  if (!(await exists(folder)))
    await withLock(
      `${folder}.lock`,
      () => say(`… another process builds ${wanted.name}`),
      async () => {
        if (!(await exists(folder))) await buildInto(folder, wanted, names);
      },
    );
  const paths = names.map((name) => [name, join(folder, name)]);
  return Object.fromEntries(paths) as Record<Names, string>;
}

/** The version of a module that the go.mod in this folder asks for, e.g. `v1.36.3`. */
export async function requiredVersion(module: string, path: string): Promise<string> {
  const lines = (await readFile(join(module, 'go.mod'), 'utf8')).split('\n');
  const words = lines.map((line) =>
    line
      .replace(/^require/, '')
      .trim()
      .split(' '),
  );
  const version = words.find(([first]) => first === path)?.[1];
  if (version === undefined) throw new Error(`${module}go.mod names no ${path}`);
  return version;
}

async function buildInto<Names extends string>(
  folder: string,
  { module, versions, programs, flags, env, patch, name: build }: GoBuild<Names>,
  names: readonly Names[],
): Promise<void> {
  const unfinished = `${folder}.${randomUUID()}`;
  await mkdir(unfinished, { recursive: true });
  try {
    const patched = patch === undefined ? [] : await writePatched(unfinished, module, patch);
    const modfile = versions === undefined ? [] : [`-modfile=${join(module, versions, 'go.mod')}`];
    for (const name of names)
      await step(`building ${name} of ${build} from Go modules: minutes, once`, () =>
        execa(
          'nice',
          [
            ...['-n', '19', 'go', 'build', ...flags, ...patched, ...modfile],
            ...['-o', join(unfinished, name), programs[name]],
          ],
          {
            cwd: module,
            env: { CGO_ENABLED: '0', GOFLAGS: '-mod=mod', ...env },
          },
        ),
      );
    for (const rest of ['patched', 'go.mod', 'go.sum'])
      await rm(join(unfinished, rest), { recursive: true, force: true });
    await rename(unfinished, folder);
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

/** The sources of a module that ours requires: fetched when they are not there, and not to be changed. */
export async function moduleSources(module: string, path: string): Promise<string> {
  const { stdout } = await execa('go', ['mod', 'download', '-json', path], { cwd: module });
  return (JSON.parse(stdout) as { Dir: string }).Dir;
}

/**
 * Go refuses overlays over its module cache, so a changed copy of the module takes its place.
 *
 * @returns flags for go build(1)
 */
async function writePatched(
  folder: string,
  module: string,
  { of, file, change }: ModulePatch,
): Promise<string[]> {
  const copy = join(folder, 'patched');
  await execa('cp', ['--recursive', await moduleSources(module, of), copy]);
  await execa('chmod', ['--recursive', 'u+w', copy]);
  const text = await readFile(join(copy, file), 'utf8');
  if (!text.includes(change.from)) throw new Error(`${file} of ${of} has no ${change.from}`);
  await writeFile(join(copy, file), text.replace(change.from, change.to));
  const [mod, sum] = ['go.mod', 'go.sum'].map((name) => join(folder, name)) as [string, string];
  await copyFile(join(module, 'go.mod'), mod);
  await copyFile(join(module, 'go.sum'), sum);
  await execa('go', ['mod', 'edit', `-replace=${of}=${copy}`, mod]);
  return [`-modfile=${mod}`];
}

async function key(wanted: GoBuild<string>): Promise<string> {
  const { module, versions = '', sources = [], patch } = wanted;
  const patches = patch === undefined ? [] : [patch];
  const hash = createHash('sha256').update(
    JSON.stringify([wanted.flags, wanted.programs, ...patches]),
  );
  const files = [...['go.mod', 'go.sum'].map((file) => join(versions, file)), ...sources];
  for (const file of files) hash.update(await readFile(join(module, file)));
  return hash.digest('hex').slice(0, 12);
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
