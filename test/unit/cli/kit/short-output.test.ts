import { expect, it } from 'vitest';
import { asksForJson, splitShortOutput } from '../../../../src/cli/kit/main.ts';

it.each([
  [
    ['list', '-ojson'],
    ['list', '-o', 'json'],
  ],
  [['-Aowide'], ['-Ao', 'wide']],
  [
    ['--', '-ojson'],
    ['--', '-ojson'],
  ],
  [['-oelse'], ['-oelse']],
])('%j is %j', (given, apart) => {
  expect(splitShortOutput(given)).toEqual(apart);
});

it.each([
  [['-o', 'json'], true],
  [['-o=json'], true],
  [['--output', 'json'], true],
  [['--output=json'], true],
  [['-Ao', 'json'], true],
  [['-o', 'text', 'json'], false],
  [['--output-file', 'json'], false],
  [['--no', 'json'], false],
  [[], false],
])('errors of %j are JSON: %j', (args, wanted) => {
  expect(asksForJson(args)).toBe(wanted);
});
