import { appendFileSync, readFileSync } from 'node:fs';
import type { Reporter, TestModule } from 'vitest/node';

/** What a run says of one test file. */
export interface FileTime {
  readonly file: string;
  readonly tests: number;
  /** Of its tests and hooks. */
  readonly seconds: number;
  /** Full names of the tests that did not run. */
  readonly skipped: readonly string[];
}

/** A reporter of vitest: a line for each file, as JSON, at the end of the file that `BERTH_TEST_TIMES` names. */
export default class Times implements Reporter {
  onTestModuleEnd(module: TestModule): void {
    const { BERTH_TEST_TIMES: to = '' } = process.env;
    const time: FileTime = {
      file: module.relativeModuleId,
      tests: [...module.children.allTests()].length,
      seconds: module.diagnostic().duration / 1000,
      skipped: [...module.children.allTests('skipped')].map(({ fullName }) => fullName),
    };
    appendFileSync(to, `${JSON.stringify(time)}\n`);
  }
}

/** What the reporter wrote, the slowest file first. */
export function readTimes(file: string): FileTime[] {
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  const times = lines.map((line) => JSON.parse(line) as FileTime);
  return times.sort((one, other) => other.seconds - one.seconds);
}

/** A table in Markdown; files below `least` seconds are one line. */
export function timesTable(times: readonly FileTime[], least = 5): string {
  const row = (file: string, tests: number, seconds: number): string =>
    `| ${file} | ${tests} | ${seconds.toFixed(0)} |`;
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
