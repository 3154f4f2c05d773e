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
  /** Each test that failed, and what fails outside of a test, with its error. */
  readonly failed: readonly string[];
}

/** A reporter of Vitest: a line for each file, as JSON, at the end of the file that `BERTH_TEST_TIMES` names. */
export default class Times implements Reporter {
  onTestModuleEnd(module: TestModule): void {
    const { BERTH_TEST_TIMES: to = '' } = process.env;
    const { children } = module;
    const time: FileTime = {
      file: module.relativeModuleId,
      tests: [...children.allTests()].length,
      seconds: module.diagnostic().duration / 1000,
      skipped: [...children.allTests('skipped')].map(({ fullName }) => fullName),
      failed: [
        ...[...children.allTests('failed')].map((test) =>
          inWords(test.fullName, test.result().errors),
        ),
        ...[module, ...children.allSuites()]
          .filter((outer) => outer.errors().length > 0)
          .map((outer) => inWords('outside of its tests', outer.errors())),
      ],
    };
    appendFileSync(to, `${JSON.stringify(time)}\n`);
  }
}

function inWords(
  name: string,
  errors: readonly { message: string; stack?: string; diff?: string }[] = [],
): string {
  const texts = errors.flatMap(({ message, stack = message, diff = '' }) => [stack, diff]);
  const lines = [name, ...texts].join('\n').split('\n');
  return lines.filter((line) => !line.includes('/node_modules/')).join('\n');
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
