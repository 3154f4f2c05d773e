import { describe, expect, it } from 'vitest';
import { commandGroups } from '../../../src/cli/command-line.ts';
import { type CommandNode, commandTree, type OptionNode } from '../../../src/cli/command-tree.ts';
import { optionRules } from '../../../src/cli/option-rules.ts';
import type { Terminal } from '../../../src/cli/terminal.ts';
import { refusal } from './refusal.ts';

const root = commandTree(commandGroups({} as Terminal));
const commands = new Map<string, CommandNode>();
const walk = (node: CommandNode, path: readonly string[]): void => {
  commands.set(path.join(' '), node);
  for (const one of node.commands) walk(one, [...path, one.name]);
};
walk(root, []);

const optionNamed = (command: string, words: string): OptionNode => {
  const name = words.split(' ', 1)[0] ?? '';
  const found = commands.get(command)?.options.find(({ names }) => names[0] === name);
  if (found === undefined) throw new Error(`berth ${command} has no ${name}`);
  return found;
};

/** An option with a value that it accepts. */
function written(command: string, words: string): string[] {
  const { takesValue, choices, isNumber } = optionNamed(command, words);
  if (words.includes(' ') || !takesValue) return words.split(' ');
  return [words, choices[0] ?? (isNumber ? '1' : 'x')];
}

/** A command line that has what the command cannot do without. */
const withWords = (command: string, ...options: string[]): string[] => {
  const required: Readonly<Record<string, string[]>> = {
    ...{ plan: ['--user', 'x'], render: ['--user', 'x'], 'sshd new': ['x', '--port', '1'] },
  };
  const all = options.flatMap((option) => written(command, option));
  return [...command.split(' '), ...(required[command] ?? []), ...all];
};

/** The options with which others are of use, so that only the rule in question is broken. */
const also = (command: string, option: string, but: string): string[] => {
  const other = optionRules[command]?.needs?.[option];
  return other === undefined || other === but ? [] : [other, ...also(command, other, but)];
};

describe('an option that a command would ignore is refused, with the other one named', () => {
  const needs = Object.entries(optionRules).flatMap(([command, rules]) =>
    Object.entries(rules.needs ?? {}).map((pair) => [command, ...pair] as const),
  );
  it.each(needs)('berth %s: %s needs %s', async (command, option, other) => {
    expect(optionNamed(command, other)).toBeDefined();
    expect(await refusal(...withWords(command, option))).toBe(
      `64: berth: ${option} needs ${other} [usage]`,
    );
  });

  const without = Object.entries(optionRules).flatMap(([command, rules]) =>
    Object.entries(rules.without ?? {}).flatMap(([option, others]) =>
      others.map((other) => [command, option, other] as const),
    ),
  );
  it.each(without)('berth %s: %s, not with %s', async (command, option, other) => {
    const more = [option, other].flatMap((one) => also(command, one, ''));
    expect(await refusal(...withWords(command, option, other, ...more))).toBe(
      `64: berth: ${option} cannot be used with ${other} [usage]`,
    );
  });
});

/** What a command does in another way with an option, and the options that it uses then. */
const modes: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  plan: {
    '--ssh': '--config --config-dir --user --output --profile --command --tty --port',
    '': '--config --config-dir --user --output --cluster',
  },
  render: { '': '--config --config-dir --user --cluster --output --show-secrets' },
  'render balancer': {
    '--for kubernetes': '--list --config --config-dir --kind --check-nodes',
    '': '--list --config --config-dir --for --balancer --kind --check-nodes --write',
  },
  'images pull': {
    '--from-archive': '--config --config-dir --output --timeout --yes',
    '': '--config --config-dir --output --timeout --auth-file',
  },
  'clusters reap': {
    '--in-cluster':
      '--namespace-selector --pod-selector --max-pods --unused-after --timeout --dry-run --textfile --output',
    '': '--config --config-dir --cluster --all-clusters --in-cluster --namespace-selector --pod-selector --max-pods --unused-after --timeout --dry-run --textfile --output',
  },
  'token rotate': {
    '--kubeconfig': '--context --lifetime --service-account --timeout --output',
    '': '--config --config-dir --cluster --lifetime --service-account --timeout --output',
  },
};

describe('a mode refuses each option that it does not use', () => {
  const cases = Object.entries(modes).flatMap(([command, own]) =>
    Object.entries(own).flatMap(([mode, used]) => {
      const known = [...used.split(' '), ...Object.keys(own).map((one) => one.split(' ')[0])];
      return (commands.get(command)?.options ?? [])
        .map(({ names: [name = ''] }) => name)
        .filter((name) => !known.includes(name))
        .map((name) => [command, mode, name] as const);
    }),
  );
  it.each(cases)('berth %s %s: %s', async (command, mode, option) => {
    const chosen = mode === '' ? [] : [mode];
    expect(await refusal(...withWords(command, ...chosen, option))).toMatch(
      /^64: berth: --\S+ (needs|cannot be used with) --\S+( \S+)? \[usage\]$/,
    );
  });
});
