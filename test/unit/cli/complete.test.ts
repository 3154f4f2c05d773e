import { describe, expect, it } from 'vitest';
import { commandModules } from '../../../src/cli/command-line.ts';
import { commandTree, type CommandNode } from '../../../src/cli/command-tree.ts';
import { complete } from '../../../src/cli/complete.ts';
import type { Terminal } from '../../../src/cli/terminal.ts';

const root = commandTree(commandModules({} as Terminal));
const words = async (...line: string[]): Promise<string[]> =>
  (await complete(root, line)).map(({ word }) => word);

describe('what follows a command line', () => {
  it('is a command, with what it does', async () => {
    expect(await complete(root, ['pl'])).toEqual([
      { word: 'plan', summary: 'Print what a login of a user would change' },
    ]);
    expect(await words('sessions', '')).toEqual(['list', 'show', 'end']);
    expect(await words('help', 'sessions', 'sh')).toEqual(['show']);
  });

  it('is an option of the command', async () => {
    expect(await words('sessions', 'list', '--no')).toEqual(['--no-headers']);
    expect(await words('plan', '--no')).toEqual([]);
  });

  it('is a value of the option or the argument before it', async () => {
    expect(await words('sessions', 'list', '-o', '')).toEqual(['text', 'wide', 'json', 'yaml']);
    expect(await words('explain', '-o', 'json', 'token-exp')).toEqual(['token-expired']);
    expect(await words('completion', 'z')).toEqual(['zsh']);
  });

  it('is not known for paths', async () => {
    expect(await words('plan', '--config', '')).toEqual([]);
  });
});

describe('the command tree', () => {
  const all = (node: CommandNode): CommandNode[] => [node, ...node.commands.flatMap(all)];

  it('says what each option does that is not only a choice', () => {
    const silent = all(root).flatMap(({ name, options }) =>
      options.flatMap(({ names, summary, choices }) =>
        summary === '' && choices.length === 0 ? [`${name} ${names.join(' ')}`] : [],
      ),
    );
    expect(silent).toEqual([]);
  });
});
