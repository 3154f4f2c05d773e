import { existsSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { BerthError } from '../../system/errors/berth-error.ts';
import {
  type BundledProgram,
  bundledScript,
  hostPrograms,
} from '../../config/schema/bundled-transfer-argv.ts';
import { stageFile, type StagedFile } from '../../system/atomic-file.ts';
import { assertParentDirectories } from '../../system/config-directories.ts';
import { ensureRootDirectory } from '../../system/safe-directories.ts';
import { runProgram } from '../../system/run-program.ts';

export interface InstalledTools {
  readonly directory: string;
  /** Paths below the directory that were created or replaced. */
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

interface Part {
  readonly name: string;
  readonly contents: Uint8Array;
}

/** glibc before 2.34 loads these by name to look up users; ldd does not list them. */
const loadedLater = ['libnss_files.so.2'];

/**
 * Copies the host's sftp-server and scp with their loader and libraries into a directory of root, which is mounted
 * into each container. Files that have not changed are left alone; the others are replaced atomically, so running
 * programs keep theirs.
 *
 * @throws {BerthError} `transfer-tools-not-on-host`, `ldd-failed`, `directory-unsafe`; system errors
 */
export async function installTransferTools(directory: string): Promise<InstalledTools> {
  const programs = await Promise.all(
    (Object.keys(hostPrograms) as BundledProgram[]).map(async (program) => {
      const file = hostPrograms[program].find((path) => existsSync(path));
      if (file === undefined) throw missing(program);
      return { program, file, needs: parseLdd(await ldd(file)) };
    }),
  );
  const loader = programs.find(({ needs }) => needs.loader !== undefined)?.needs.loader;
  const libraries = new Set(programs.flatMap(({ needs }) => needs.libraries));
  for (const library of [...libraries].filter((path) => path.endsWith('/libc.so.6')))
    for (const name of loadedLater)
      if (existsSync(join(dirname(library), name))) libraries.add(join(dirname(library), name));
  if (loader === undefined) throw missing('ld.so');
  const parts: Part[] = [
    { name: 'ld.so', contents: await readFile(loader) },
    ...(await Promise.all(
      [...libraries].map(async (path) => ({
        name: `lib/${basename(path)}`,
        contents: await readFile(path),
      })),
    )),
    ...(await Promise.all(
      programs.map(async ({ program, file }) => ({
        name: `${program}.bin`,
        contents: await readFile(file),
      })),
    )),
    ...programs.map(({ program }) => ({
      name: program,
      contents: Buffer.from(bundledScript(program)),
    })),
  ];
  return { directory, ...(await install(directory, parts)) };
}

async function install(
  directory: string,
  parts: readonly Part[],
): Promise<Pick<InstalledTools, 'changed' | 'removed'>> {
  assertParentDirectories(directory, 0);
  for (const path of [directory, join(directory, 'lib')]) ensureRootDirectory(path);
  const stale: Part[] = [];
  for (const part of parts) {
    const old = await readFile(join(directory, part.name)).catch(() => undefined);
    if (old?.equals(part.contents) !== true) stale.push(part);
  }
  // All are written before the first is renamed: the loader and the C library must match.
  const staged: StagedFile[] = [];
  try {
    for (const { name, contents } of stale)
      staged.push(await stageFile(join(directory, name), contents, { mode: 0o755 }));
    for (const file of staged) await file.commit();
  } finally {
    for (const file of staged) await file.discard();
  }
  const known = new Set(parts.map(({ name }) => name));
  const there = await readdir(join(directory, 'lib'));
  const removed = there.map((name) => `lib/${name}`).filter((name) => !known.has(name));
  for (const name of removed) await rm(join(directory, name), { force: true });
  return { changed: stale.map(({ name }) => name), removed };
}

/** Runs ldd in the C locale, without the caller's library paths. */
async function ldd(file: string): Promise<string> {
  const { error, stdout } = await runProgram('/usr/bin/ldd', [file]);
  // For a static program ldd fails; it needs no loader.
  if (error === undefined || /not a dynamic executable|statically linked/.test(stdout))
    return stdout;
  throw new BerthError('ldd-failed', `ldd ${file} failed: ${error.message}`, {
    cause: error,
  });
}

function missing(what: string): BerthError {
  return new BerthError(
    'transfer-tools-not-on-host',
    `${what} was not found on this machine, so it could not be copied`,
  );
}

/** Absolute paths of the loader and the libraries in the output of ldd(1), without the vDSO. */
export function parseLdd(output: string): {
  readonly loader?: string;
  readonly libraries: string[];
} {
  const paths = output
    .split('\n')
    .flatMap((line) => /^\s+(?:\S+ => )?(\/\S+) \(0x[0-9a-f]+\)$/.exec(line)?.[1] ?? []);
  const loader = paths.find((path) => /\/ld[^/]*\.so[.0-9]*$/.test(path));
  const libraries = paths.filter((path) => path !== loader);
  return { libraries, loader };
}
