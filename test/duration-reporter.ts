import { appendFileSync, readFileSync } from 'node:fs';
import type { Reporter, TestModule } from 'vitest/node';

/** The result of one test file. */
export interface FileDuration {
  readonly file: string;
  readonly tests: number;
  /** Time of its tests and hooks. */
  readonly seconds: number;
  /** Full names of the tests that did not run. */
  readonly skipped: readonly string[];
  /** Failed tests, and errors outside of tests, each with its error text. */
  readonly failed: readonly string[];
}

/** A Vitest reporter that appends a line of JSON for each test file to the file named by `BERTH_TEST_TIMES`. */
export default class DurationReporter implements Reporter {
  onTestModuleEnd(module: TestModule): void {
    const { BERTH_TEST_TIMES: to = '' } = process.env;
    const { children } = module;
    const time: FileDuration = {
      file: module.relativeModuleId,
      tests: [...children.allTests()].length,
      seconds: module.diagnostic().duration / 1000,
      skipped: [...children.allTests('skipped')].map(({ fullName }) => fullName),
      failed: [
        ...[...children.allTests('failed')].map((test) =>
          failureText(test.fullName, test.result().errors),
        ),
        ...[module, ...children.allSuites()]
          .filter((outer) => outer.errors().length > 0)
          .map((outer) => failureText('outside of the tests', outer.errors())),
      ],
    };
    appendFileSync(to, `${JSON.stringify(time)}\n`);
  }
}

function failureText(
  name: string,
  errors: readonly { message: string; stack?: string; diff?: string }[] = [],
): string {
  const texts = errors.flatMap(({ message, stack = message, diff = '' }) => [stack, diff]);
  const lines = [name, ...texts].join('\n').split('\n');
  return lines.filter((line) => !line.includes('/node_modules/')).join('\n');
}

/** Reads the reporter's file. @returns the results, slowest file first */
export function readDurations(file: string): FileDuration[] {
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  const times = lines.map((line) => JSON.parse(line) as FileDuration);
  return times.sort((one, other) => other.seconds - one.seconds);
}

/** Files that took less than this many seconds share one row. */
const least = 5;

/** A Markdown table. @param formerRows of files whose times are not known */
export function durationsTable(
  times: readonly FileDuration[],
  formerRows: readonly string[] = [],
): string {
  const row = (file: string, tests: number, seconds: number): string =>
    `| ${file} | ${tests} | ${seconds.toFixed(0)} |`;
  const quick = times.filter(({ seconds }) => seconds < least);
  const sum = (of: (time: FileDuration) => number): number =>
    quick.reduce((total, time) => total + of(time), 0);
  return [
    '| file | tests | seconds |',
    '| --- | ---: | ---: |',
    ...formerRows,
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
