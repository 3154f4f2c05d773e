import { type CommandNode, type OptionNode, shownOptions } from './command.ts';
import { placeholderOf } from './options.ts';
import { wrapped } from '../../system/text/wrapped-text.ts';

/** Width of what stands before the meaning. */
const leftWidth = 26;

/**
 * The help of a command. Examples are never wrapped: they can be copied.
 *
 * @param path names of the commands, without `berth`
 * @param width of the terminal
 */
export function helpText(
  root: CommandNode,
  { path, node }: { readonly path: readonly string[]; readonly node: CommandNode },
  width: number,
): string {
  const words = ['berth', ...path.slice(0, -1), node.command].filter((word) => word !== '');
  const line = (left: string, meaning: string): string => columns(left, meaning, width);
  const sections = [
    [
      node === root ? 'Usage: berth COMMAND [OPTIONS]' : words.join(' '),
      ...(node.describe === '' ? [] : ['', wrapped(node.describe, '', '', width)]),
    ],
    ...groupsOf(node).map(([title, commands]) => [
      `${title}:`,
      ...commands.map((own) => line(['berth', ...path, own.command].join(' '), own.describe)),
    ]),
    titled(
      'Arguments',
      node.positionals.map(({ name, describe, choices }) =>
        line(name, withValues(describe, choices, undefined)),
      ),
    ),
    titled('Options', node === root ? [] : shownOptions(node).map((one) => optionLine(one, width))),
    titled(
      'Global options',
      root.options.flatMap((one) =>
        node !== root && one.names.includes('--version') ? [] : [optionLine(one, width)],
      ),
    ),
    titled(
      'Examples',
      (node.examples ?? []).flatMap(([command, meaning]) => [`  # ${meaning}`, `  ${command}`]),
    ),
    node.epilogue === undefined ? [] : [wrapped(node.epilogue, '', '', width)],
  ];
  return `${sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

function titled(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [`${title}:`, ...lines];
}

/** Commands by the title under which they stand. */
function groupsOf({ commands }: CommandNode): readonly (readonly [string, CommandNode[]])[] {
  const titles = [...new Set(commands.map(({ group }) => group))];
  return titles.map((title) => [
    title ?? 'Commands',
    commands.filter(({ group }) => group === title),
  ]);
}

function optionLine(option: OptionNode, width: number): string {
  const { names, describe, type, kind, choices, default: value } = option;
  const short = names.filter((name) => !name.startsWith('--'));
  const long = names.filter((name) => name.startsWith('--'));
  const left = `${short.join(', ').padStart(2)}${short.length > 0 ? ', ' : '  '}${long.join(', ')}`;
  const placeholder = type === 'boolean' ? '' : ` ${placeholderOf(kind, choices)}`;
  return columns(left + placeholder, withValues(describe, [], value), width);
}

function withValues(meaning: string, choices: readonly string[] = [], value: unknown): string {
  const values = choices.length === 0 ? '' : `: ${choices.join(', ')}`;
  const known = [value].flat().filter((one) => one !== false && one !== '' && one !== undefined);
  const fallback = known.length === 0 ? '' : ` [default: ${known.join(' ')}]`;
  return `${meaning}${values}${fallback}`.trim();
}

/** A left part that is too long has a line of its own. */
function columns(left: string, meaning: string, width: number): string {
  const indent = ' '.repeat(leftWidth + 4);
  if (meaning === '') return `  ${left}`;
  const text = wrapped(meaning, indent, indent, width);
  if (left.length > leftWidth) return `  ${left}\n${text}`;
  return `  ${left}`.padEnd(indent.length) + text.slice(indent.length);
}
