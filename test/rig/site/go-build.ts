import { createHash, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { cacheDirectory } from './directories.ts';
import { withLock } from './lock.ts';
import { say, step } from './progress.ts';

/** Programs that are built together from a Go module in this repository, which pins the versions of their sources. */
export interface GoBuild<Names extends string> {
  /** First part of the directory's name in the cache, with the version: `kubernetes-v1.36.3`. */
  readonly name: string;
  /** Directory of the module. */
  readonly module: string;
  /** Subdirectory with the go.mod and go.sum to use; default: the module's own. */
  readonly versions?: string;
  /** The module's own sources, besides go.mod and go.sum. */
  readonly sources?: readonly string[];
  /** The Go package of each program. */
  readonly programs: Readonly<Record<Names, string>>;
  readonly flags: readonly string[];
  readonly env?: Environment;
  /** A change to a file of one of the required modules. */
  readonly patch?: ModulePatch;
}

type Environment = Readonly<Record<string, string>>;

export interface ModulePatch {
  /** The module's path, without a version. */
  readonly of: string;
  /** A file of the module. */
  readonly file: string;
  /** `from` is a regular expression, of which all matches are replaced. */
  readonly change: { readonly from: string; readonly to: string };
}

/**
 * Builds programs from the Go module proxy, unless they are in the cache. The cache key is a hash of
 * flags, programs, patch and sources.
 *
 * @returns the path of each program
 */
export async function goPrograms<Names extends string>(
  wanted: GoBuild<Names>,
): Promise<Readonly<Record<Names, string>>> {
  const directory = join(cacheDirectory, `${wanted.name}-${await key(wanted)}`);
  const names = Object.keys(wanted.programs) as Names[];
  // One process builds at a time; the others then find the result.
  if (!existsSync(directory))
    await withLock(
      `${directory}.lock`,
      () => say(`… another process is building ${wanted.name}`),
      async () => {
        if (!existsSync(directory)) await buildInto(directory, wanted, names);
      },
    );
  const paths = names.map((name) => [name, join(directory, name)]);
  return Object.fromEntries(paths) as Record<Names, string>;
}

/** The version of a module that the go.mod in this directory requires, for example `v1.36.3`. */
export async function requiredVersion(module: string, path: string): Promise<string> {
  const lines = (await readFile(join(module, 'go.mod'), 'utf8')).split('\n');
  const requirements = lines.map((line) =>
    line
      .replace(/^require/, '')
      .trim()
      .split(' '),
  );
  const version = requirements.find(([first]) => first === path)?.[1];
  if (version === undefined) throw new Error(`${module}go.mod does not require ${path}`);
  return version;
}

async function buildInto<Names extends string>(
  directory: string,
  { module, versions, programs, flags, env, patch, name: build }: GoBuild<Names>,
  names: readonly Names[],
): Promise<void> {
  const unfinished = `${directory}.${randomUUID()}`;
  await mkdir(unfinished, { recursive: true });
  try {
    const patched = patch === undefined ? [] : await writePatched(unfinished, module, patch, env);
    const modfile = versions === undefined ? [] : [`-modfile=${join(module, versions, 'go.mod')}`];
    for (const name of names)
      await step(`building ${name} of ${build} from Go modules (takes minutes, once)`, () =>
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
    await rename(unfinished, directory);
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

/** The directory with the sources of a required module, downloaded if it is missing. It is read-only. */
export async function moduleSources(
  module: string,
  path: string,
  env: Environment = {},
): Promise<string> {
  const { stdout } = await execa('go', ['mod', 'download', '-json', path], { cwd: module, env });
  return (JSON.parse(stdout) as { Dir: string }).Dir;
}

/**
 * Go does not allow overlays over its module cache, so a changed copy of the module replaces it.
 *
 * @returns flags for go build(1)
 */
async function writePatched(
  directory: string,
  module: string,
  { of, file, change }: ModulePatch,
  env?: Environment,
): Promise<string[]> {
  const copy = join(directory, 'patched');
  await execa('cp', ['--recursive', await moduleSources(module, of, env), copy]);
  await execa('chmod', ['--recursive', 'u+w', copy]);
  const text = await readFile(join(copy, file), 'utf8');
  const from = new RegExp(change.from, 'g');
  if (text.search(from) === -1) throw new Error(`${file} of ${of} has no ${change.from}`);
  await writeFile(join(copy, file), text.replace(from, change.to));
  const [mod, sum] = ['go.mod', 'go.sum'].map((name) => join(directory, name)) as [string, string];
  await copyFile(join(module, 'go.mod'), mod);
  await copyFile(join(module, 'go.sum'), sum);
  await execa('go', ['mod', 'edit', `-replace=${of}=${copy}`, mod], { env: { ...env } });
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
