import { createHash, randomUUID } from 'node:crypto';
import { access, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { cacheFolder } from './folders.ts';
import { step } from './progress.ts';

/** Programs that are built together from one Go module of ours, which pins what they are made of. */
export interface GoBuild<Names extends string> {
  /** First part of the folder's name in the cache, with the version: `kubernetes-v1.36.3`. */
  readonly name: string;
  /** Folder of the module. */
  readonly module: string;
  /** Sources in the module besides go.mod and go.sum. */
  readonly sources?: readonly string[];
  /** The package of each program. */
  readonly programs: Readonly<Record<Names, string>>;
  readonly flags: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
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
  if (!(await exists(folder))) await buildInto(folder, wanted, names);
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
  { module, programs, flags, env, name: build }: GoBuild<Names>,
  names: readonly Names[],
): Promise<void> {
  const unfinished = `${folder}.${randomUUID()}`;
  await mkdir(unfinished, { recursive: true });
  try {
    for (const name of names)
      await step(`building ${name} of ${build} from Go modules: minutes, once`, () =>
        execa('go', ['build', ...flags, '-o', join(unfinished, name), programs[name]], {
          cwd: module,
          env: { CGO_ENABLED: '0', GOFLAGS: '-mod=mod', ...env },
        }),
      );
    await rename(unfinished, folder).catch(async (error: unknown) => {
      if (!(await exists(folder))) throw error;
    });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
}

async function key({ module, sources = [], flags, programs }: GoBuild<string>): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify([flags, programs]));
  for (const file of ['go.mod', 'go.sum', ...sources])
    hash.update(await readFile(join(module, file)));
  return hash.digest('hex').slice(0, 12);
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
