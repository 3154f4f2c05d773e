import { globSync, readdirSync } from 'node:fs';
import { join, sep } from 'node:path';
import { importCircles } from './import-circles.ts';
import { readSourceFile, type SourceFile } from './source-file.ts';

/** A file with fewer lines than this and one importer could be a part of that. */
const smallLines = 40;

/** What has a limit in docs/development.md. */
export interface House {
  /** Tokens of src, hooks and shell, without src/companions. */
  readonly tokens: number;
  /** Tokens of what a portal's login, an ssh session or a kubectl can run: all that hooks and shell import, dynamic imports included. */
  readonly loginTokens: number;
  readonly companionTokens: number;
  /** Entries directly in src. */
  readonly rooms: number;
  readonly circles: number;
  readonly spreads: number;
  readonly smallFiles: number;
}

/** Counts the sources. @param root of the project */
export function measureHouse(root: string): House {
  const paths = globSync('{src,hooks,shell}/**/*.ts', { cwd: root });
  const files = new Map(
    paths.map((path) => join(root, path)).map((path) => [path, readSourceFile(path)]),
  );
  const all = [...files.values()];
  const companions = all.filter(({ path }) =>
    path.startsWith(join(root, 'src', 'companions') + sep),
  );
  return {
    tokens: sum(all, 'tokens') - sum(companions, 'tokens'),
    loginTokens: sum(loginFiles(root, files), 'tokens'),
    companionTokens: sum(companions, 'tokens'),
    rooms: readdirSync(join(root, 'src')).length,
    circles: importCircles(files).length,
    spreads: sum(all, 'spreads'),
    smallFiles: smallFilesWithOneImporter(files),
  };
}

function sum(files: readonly SourceFile[], key: 'tokens' | 'spreads'): number {
  return files.reduce((total, file) => total + file[key], 0);
}

/** Types are gone in what runs. */
function loginFiles(root: string, files: ReadonlyMap<string, SourceFile>): readonly SourceFile[] {
  const found = new Set<SourceFile>();
  const follow = (path: string): void => {
    const file = files.get(path);
    if (file === undefined || found.has(file)) return;
    found.add(file);
    for (const { to, kind } of file.imports) if (kind !== 'type') follow(to);
  };
  const entries = ['hooks', 'shell'].map((name) => join(root, name) + sep);
  for (const path of files.keys())
    if (entries.some((entry) => path.startsWith(entry))) follow(path);
  return [...found];
}

function smallFilesWithOneImporter(files: ReadonlyMap<string, SourceFile>): number {
  const importers = new Map<string, number>();
  for (const { imports } of files.values())
    for (const to of new Set(imports.map((one) => one.to)))
      importers.set(to, (importers.get(to) ?? 0) + 1);
  return [...files.values()].filter(
    ({ path, lines }) => lines < smallLines && importers.get(path) === 1,
  ).length;
}
