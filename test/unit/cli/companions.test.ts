import { expect, it } from 'vitest';
import { companionCall } from '../../../src/cli/companions.ts';

it.each([
  [
    ['verify', 'HOST', '--only', 'sftp'],
    ['verify', 'HOST', '--only', 'sftp'],
  ],
  [
    ['-q', 'verify', 'HOST'],
    ['-q', 'verify', 'HOST'],
  ],
  [
    ['help', 'verify'],
    ['verify', '--help'],
  ],
  [
    ['__complete', 'verify', '--f'],
    ['__complete', 'verify', '--f'],
  ],
])('%j is of a companion', (words, passed) => {
  expect(companionCall(words)).toEqual({ name: 'verify', words: passed });
});

it.each([
  [[]],
  [['--help']],
  [['doctor', 'verify']],
  [['__complete', 'verify']],
  [['__complete', 'help', 'verify']],
  [['__test-session', 'verify']],
  [['toString']],
])('%j is not', (words) => {
  expect(companionCall(words)).toBeUndefined();
});
