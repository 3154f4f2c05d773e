import { describe, expect, it } from 'vitest';
import { root } from '../../../scripts/all-commands.ts';
import { type CommandNode, shownOptions } from '../../../src/cli/kit/command.ts';
import { complete } from '../../../src/cli/complete.ts';

const words = async (...line: string[]): Promise<string[]> =>
  (await complete(root, line)).candidates.map(({ word }) => word);

describe('what follows a command line', () => {
  it('is a command, with what it does', async () => {
    expect(await complete(root, ['pl'])).toEqual({
      candidates: [{ word: 'plan', summary: 'Print what a login of a user would change' }],
      fallback: 'nothing',
    });
    expect(await words('sessions', '')).toEqual(['list', 'show', 'end']);
    expect(await words('help', 'sessions', 'sh')).toEqual(['show']);
  });

  it('is an option of the command', async () => {
    expect(await words('sessions', 'list', '--no')).toEqual(['--no-headers']);
    expect(await words('plan', '--no')).toEqual([]);
  });

  it('is a value of the option or the argument before it', async () => {
    expect(await words('sessions', 'list', '-o', '')).toEqual(['text', 'wide', 'json']);
    expect(await words('explain', '-q', 'token-exp')).toEqual(['token-expired']);
    expect(await words('completion', 'z')).toEqual(['zsh']);
  });

  it('is a value after = too', async () => {
    expect(await words('init', 'login-node', '--mode=')).toEqual([
      '--mode=forced',
      '--mode=login-shell',
    ]);
    expect(await words('sessions', 'list', '--output=w')).toEqual(['--output=wide']);
  });

  it.each([
    [['plan', '--config', ''], 'files'],
    [['images', 'pull', '--from-archive='], 'files'],
    [['token', 'setup', '--from', ''], 'files'],
    [['sessions', 'list', '--from', ''], 'nothing'],
    [['render', 'pages', 'x'], 'directories'],
    [['init', 'login-node', '--port', ''], 'nothing'],
  ])('is for the shell to know: %j', async (line, fallback) => {
    expect(await complete(root, line)).toEqual({ candidates: [], fallback });
  });
});

describe('the command tree', () => {
  const all = (node: CommandNode): CommandNode[] => [node, ...node.commands.flatMap(all)];

  it('says what each option does that is not only a choice', () => {
    const silent = all(root).flatMap((node) =>
      shownOptions(node).flatMap(({ names, describe, choices }) =>
        describe === '' && choices === undefined ? [`${node.name} ${names.join(' ')}`] : [],
      ),
    );
    expect(silent).toEqual([]);
  });

  it('has values for each option and argument that takes one, or says that there are none', () => {
    const unknown = all(root).flatMap((node) =>
      [...shownOptions(node).filter(({ type }) => type !== 'boolean'), ...node.positionals]
        // `berth help` completes commands.
        .filter(({ kind, choices }) => (kind === undefined) === (choices === undefined))
        .map(({ describe }) => `${node.name}: ${describe}`),
    );
    expect(unknown).toEqual(['help: Such as `sessions list`']);
  });

  it('has the values that a description names as choices', () => {
    const hidden = all(root).flatMap(({ name, options }) =>
      options
        .filter(
          ({ describe, choices }) =>
            /: yes or no|: \w+ or \w+$/.test(describe) && choices === undefined,
        )
        .map(({ names }) => `${name} ${names.join(' ')}`),
    );
    expect(hidden).toEqual([]);
  });
});
