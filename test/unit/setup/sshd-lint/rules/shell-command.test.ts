import { describe, expect, it } from 'vitest';
import {
  forcedProgram,
  parseShellCommand,
} from '../../../../../src/setup/sshd-lint/rules/shell-command.ts';

describe('a command line as a shell reads it', () => {
  it.each([
    ['/a/login --profile gpu', ['/a/login', '--profile', 'gpu']],
    ['"/a/login" --profile \'gpu\'', ['/a/login', '--profile', 'gpu']],
    ['"/a b/log"in', ['/a b/login']],
    ['/a\\ b/login "\\$x" \'$y\'', ['/a b/login', '$x', '$y']],
    ['/a/login # || sh', ['/a/login']],
    ['/a/login ""', ['/a/login', '']],
  ])('%s: words, and nothing else', (text, words) => {
    expect(parseShellCommand(text)).toEqual({ words, startsAnother: false, interpreted: false });
  });

  it.each(['a || b', 'a;b', 'a & b', 'a|b', '"a";b'])('%s: another command', (text) => {
    expect(parseShellCommand(text)).toMatchObject({ words: ['a'], startsAnother: true });
  });

  it.each(['a "|| b"', "a ';b'", 'a \\; b'])('%s: in quotes it is a word', (text) => {
    expect(parseShellCommand(text).startsAnother).toBe(false);
  });

  it.each(['a $B', 'a "$B"', 'a *', 'a >b', 'a "b', 'a ~', 'a `b`'])('%s: interpreted', (text) => {
    expect(parseShellCommand(text)).toMatchObject({ startsAnother: false, interpreted: true });
  });

  it('the program of a forced command', () => {
    expect(forcedProgram('exec "/a/login" x')).toBe('/a/login');
    expect(forcedProgram('/a/login')).toBe('/a/login');
    expect(forcedProgram(' ')).toBeUndefined();
  });
});
