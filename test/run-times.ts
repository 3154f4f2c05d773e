import { readdirSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { cacheDirectory } from './rig/site/directories.ts';

const page = new URL('times.md', import.meta.url);

export interface RunTimes {
  readonly caches: 'warm' | 'empty';
  readonly minutes: number;
  /** Markdown table of the files. */
  readonly table: string;
}

/** True if Kubernetes has to be built. */
export function cachesAreEmpty(): boolean {
  try {
    return !readdirSync(cacheDirectory).some((name) =>
      /^kubernetes-[^.]*(?:\.\d+)*-\w+$/.test(name),
    );
  } catch {
    return true;
  }
}

/** The seconds of each file in test/times.md that has a row of its own. */
export async function secondsByFile(): Promise<ReadonlyMap<string, number>> {
  const rows = (await readFile(page, 'utf8')).matchAll(/^\| (test\/\S+) \| \d+ \| (\d+) \|$/gm);
  return new Map(Array.from(rows, ([, file = '', seconds]) => [file, Number(seconds)]));
}

/** Writes test/times.md: the last run of each kind that passed, and the files of this one. */
export async function writeTimes({ caches, minutes, table }: RunTimes): Promise<void> {
  const before = await readFile(page, 'utf8').catch(() => '');
  const day = new Date().toISOString().slice(0, 10);
  const row = `| ${caches} | ${minutes.toFixed(1)} | ${availableParallelism()} | ${day} |`;
  const others = before.split('\n').filter((line) => /^\| (?:warm|empty) /.test(line));
  const rows = [...others.filter((line) => !line.startsWith(`| ${caches} `)), row].sort();
  const text = `# What the test run takes

\`npm test\` writes this file when it has passed.

| caches | minutes | cores | day |
| --- | ---: | ---: | --- |
${rows.join('\n')}

${table}
`;
  await writeFile(page, text);
}
