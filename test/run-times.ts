import { existsSync, readdirSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { durationsTable, type FileDuration } from './duration-reporter.ts';
import { cacheDirectory } from './rig/site/directories.ts';

const page = new URL('times.md', import.meta.url);

export interface RunTimes {
  readonly caches: 'warm' | 'empty';
  /** Of a run that passed. */
  readonly minutes: number | undefined;
  readonly files: readonly FileDuration[];
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

/** Writes test/times.md: the last run of each kind that passed, and the files of this one. Others keep their rows. */
export async function writeTimes({ caches, minutes, files }: RunTimes): Promise<void> {
  const lines = (await readFile(page, 'utf8').catch(() => '')).split('\n');
  const others = lines.filter((line) => /^\| (?:warm|empty) /.test(line));
  const rows =
    minutes === undefined
      ? others
      : [...others.filter((line) => !line.startsWith(`| ${caches} `)), passed(caches, minutes)];
  const passedFiles = files.filter(({ failed }) => failed.length === 0);
  const isKept = (line: string): boolean => {
    const [, file] = /^\| (test\/\S+) \|/.exec(line) ?? [];
    return file !== undefined && existsSync(file) && passedFiles.every((one) => one.file !== file);
  };
  const table = durationsTable(passedFiles, lines.filter(isKept));
  const text = `# What the test run takes

\`npm test\` writes this file: the last run that passed, and the files as they last passed.

| caches | minutes | cores | day |
| --- | ---: | ---: | --- |
${rows.sort().join('\n')}

${table}
`;
  await writeFile(page, text.replace(/\n{3,}/g, '\n\n'));
}

function passed(caches: string, minutes: number): string {
  const day = new Date().toISOString().slice(0, 10);
  return `| ${caches} | ${minutes.toFixed(1)} | ${availableParallelism()} | ${day} |`;
}
