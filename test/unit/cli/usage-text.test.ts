import { describe, expect, it } from 'vitest';
import { usageText } from '../../../src/cli/usage-text.ts';

const options = ['help', 'version', 'idle-over', 'all-nodes', 'A', 'user'];

describe('a refused command line', () => {
  it.each([
    [
      'Unknown arguments: idle-ovr, idleOvr',
      ['sessions', 'list', '--idle-ovr', '2h'],
      'unknown option --idle-ovr (did you mean --idle-over?)',
    ],
    ['Unknown argument: usr', ['--usr=alice'], 'unknown option --usr (did you mean --user?)'],
    ['Unknown argument: frobnicate', ['--frobnicate'], 'unknown option --frobnicate'],
    [
      'Unknown arguments: q, xx-yy, xxYy',
      ['-q', '--xx-yy'],
      'unknown option -q; unknown option --xx-yy',
    ],
    ['Unknown argument: alice', ['doctor', 'alice'], 'unexpected argument alice'],
    ['Unknown arguments: q, z', ['-qz'], 'Unknown arguments: q, z'],
    ['Not enough arguments\n  following: user', ['--user'], 'Not enough arguments following: user'],
  ])('says of %j: %j', (message, args, text) => {
    expect(usageText({ message, args, options })).toBe(text);
  });
});
