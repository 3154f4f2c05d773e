import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import type { Figure } from './figures.ts';

/** The figures of a part, as `docs/scale/PART.json` has them. */
export interface SavedPart {
  readonly title: string;
  readonly machine: string;
  readonly figures: readonly Figure[];
}

const directory = new URL('../../../docs/scale/', import.meta.url);

export async function saveFigures(name: string, part: SavedPart): Promise<void> {
  await mkdir(directory, { recursive: true });
  await writeFile(new URL(`${name}.json`, directory), `${JSON.stringify(part, null, 2)}\n`);
}

/** All saved parts, by name. */
export async function savedFigures(): Promise<Readonly<Record<string, SavedPart>>> {
  const files = (await readdir(directory)).filter((file) => file.endsWith('.json')).sort();
  const parts = files.map(async (file) => {
    const text = await readFile(new URL(file, directory), 'utf8');
    return [file.replace(/\.json$/, ''), JSON.parse(text) as SavedPart] as const;
  });
  return Object.fromEntries(await Promise.all(parts));
}
