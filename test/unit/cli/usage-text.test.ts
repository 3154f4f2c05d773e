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
    ['Not enough arguments\n  following: user', ['--user'], '--user needs a value'],
    ['Missing required argument: user', ['plan'], '--user is missing'],
    ['Missing required arguments: ca, A', ['plan'], '--ca and -A are missing'],
    [
      'Invalid values:\n  Argument: output, Given: "yaml", Choices: "text", "json"',
      ['-o', 'yaml'],
      '--output yaml: must be text or json',
    ],
    ['Not enough non-option arguments: got 0, need at least 1', ['completion'], 'SHELL is missing'],
    ['a command is missing', ['--usre', 'alice'], 'unknown option --usre (did you mean --user?)'],
    ['a command is missing', [], 'a command is missing'],
  ])('says of %j: %j', (message, args, text) => {
    expect(usageText({ message, args, options, commands: [], command: 'completion <shell>' })).toBe(
      text,
    );
  });
  it('names the command that was probably meant', () => {
    const commands = ['doctor', 'lint', 'init'];
    const refused = (message: string, word: string) =>
      usageText({ message, args: [word], options, commands, command: '' });
    expect(refused('Unknown argument: doctr', 'doctr')).toBe(
      'unknown command doctr (did you mean doctor?)',
    );
    expect(refused('Unknown command: xyz', 'xyz')).toBe('unknown command xyz');
  });
});
