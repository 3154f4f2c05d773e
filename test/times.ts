import { readFile } from 'node:fs/promises';
import { relative } from 'node:path';

/** Of one test file. */
export interface FileTime {
  readonly file: string;
  readonly tests: number;
  readonly seconds: number;
}

/** Of vitest's JSON reporter, as far as it is read. */
interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly startTime: number;
    readonly endTime: number;
    readonly assertionResults: readonly unknown[];
  }[];
}

/** The time of each file in reports of vitest's JSON reporter, the slowest first; tests that run side by side count once. */
export async function timesOf(reports: readonly string[]): Promise<FileTime[]> {
  const times: FileTime[] = [];
  for (const report of reports) {
    const { testResults } = JSON.parse(await readFile(report, 'utf8')) as Report;
    for (const { name, startTime, endTime, assertionResults } of testResults) {
      const file = relative(process.cwd(), name);
      times.push({
        file,
        tests: assertionResults.length,
        seconds: (endTime - startTime) / 1000,
      });
    }
  }
  return times.sort((one, other) => other.seconds - one.seconds);
}

/** A table in Markdown; files below `least` seconds are one line. */
export function timesTable(times: readonly FileTime[], least = 2): string {
  const row = (file: string, tests: number, seconds: number): string =>
    `| ${file} | ${tests} | ${seconds.toFixed(1)} |`;
  const quick = times.filter(({ seconds }) => seconds < least);
  const sum = (of: (time: FileTime) => number): number =>
    quick.reduce((total, time) => total + of(time), 0);
  return [
    '| file | tests | seconds |',
    '| --- | ---: | ---: |',
    ...times
      .filter(({ seconds }) => seconds >= least)
      .map(({ file, tests, seconds }) => row(file, tests, seconds)),
    row(
      `${quick.length} others`,
      sum(({ tests }) => tests),
      sum(({ seconds }) => seconds),
    ),
  ].join('\n');
}
