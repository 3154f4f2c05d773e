import { describe, expect, it } from 'vitest';
import { askedCommand, usageText } from '../../../../src/cli/self-service/command-words.ts';
import { BerthError } from '../../../../src/system/errors/berth-error.ts';

function refusal(command: string): string {
  try {
    askedCommand(command, 'my');
  } catch (error) {
    if (error instanceof BerthError) return `${error.exitCode} ${error.message}. ${error.hint}`;
  }
  return 'accepted';
}

describe('a command of a user', () => {
  it('has names and options', () => {
    expect(askedCommand('my sessions', 'my')).toMatchObject({ name: 'sessions' });
    expect(askedCommand('my end berth-a pod/b', 'my')).toEqual({
      ...{ name: 'end', names: ['berth-a', 'pod/b'], all: false },
    });
    expect(askedCommand('my end --all', 'my')).toMatchObject({ all: true });
    for (const help of ['my', 'my help', 'my --help', 'my status -h'])
      expect(askedCommand(help, 'my')).toMatchObject({ name: 'help' });
  });

  const exists = 'Commands are sessions, end, profiles, status, help: see `ssh HOST my help`.';
  it.each([
    ['my list', `64 there is no command my list. ${exists}`],
    ['my sessions -o json', `64 Unknown option '-o'. ${exists}`],
    ['my sessions x', `64 my sessions takes no names. ${exists}`],
    ['my status --all', `64 my status takes no --all. ${exists}`],
    ['my status --al', `64 Unknown option '--al'. ${exists}`],
    ['my end', '64 my end needs names, or --all. `my sessions` has the names.'],
    ['my end a --all', '64 my end needs either names or --all. `my sessions` has the names.'],
    [
      'my end "a"',
      '64 a command for the login may contain only letters, digits and `_ . , : / = @ + -`. For a program my in the container, run `command my …`.',
    ],
  ])('is refused with what exists: %s', (command, words) => expect(refusal(command)).toBe(words));

  it('is explained with the word of the site', () => {
    expect(usageText('my')).toContain('  ssh HOST my end berth-base\n');
    expect(usageText('my')).not.toMatch(/\bberth (?!ARG)[a-z]/);
  });
});
