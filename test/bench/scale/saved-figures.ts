import { readFile, writeFile } from 'node:fs/promises';
import type { Figure } from './figures.ts';

/** Figures of a part, as docs/scale.json has them. */
export interface SavedPart {
  readonly title: string;
  readonly machine: string;
  readonly figures: readonly Figure[];
}

const file = new URL('../../../docs/scale.json', import.meta.url);

/** Replaces the figures of a part in docs/scale.json. */
export async function saveFigures(name: string, part: SavedPart): Promise<void> {
  const all = { ...(await savedFigures()), [name]: part };
  await writeFile(file, `${JSON.stringify(all, null, 2)}\n`);
}

/** The parts of docs/scale.json, by name. */
export async function savedFigures(): Promise<Readonly<Record<string, SavedPart>>> {
  return JSON.parse(await readFile(file, 'utf8')) as Record<string, SavedPart>;
}
