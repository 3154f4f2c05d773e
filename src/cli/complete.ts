import type { CommandNode, OptionNode } from './command-tree.ts';
import { namesOf } from './known-names.ts';
import { type ValueKind, valueKind } from './option-values.ts';

/** What can follow a command line. */
export interface Candidate {
  readonly word: string;
  /** One line, or ''. */
  readonly summary: string;
}

/** What the shell itself completes if there are no words. */
export type Fallback = 'files' | 'directories' | 'nothing';

export interface Completion {
  readonly candidates: readonly Candidate[];
  readonly fallback: Fallback;
}

/**
 * The words that can be in the place of the last one.
 *
 * @param words after `berth`; the last one is being written and may be empty
 */
export async function complete(root: CommandNode, words: readonly string[]): Promise<Completion> {
  const current = words.at(-1) ?? '';
  const before = words.slice(0, -1);
  const [, option, value] = /^(--[a-z-]+)=(.*)$/.exec(current) ?? [];
  if (option !== undefined && value !== undefined) {
    const { candidates, fallback } = await complete(root, [...before, option, value]);
    const whole = candidates.map((one) => ({ ...one, word: `${option}=${one.word}` }));
    return { candidates: whole, fallback };
  }
  // `berth help` is followed by a command.
  const { path, node, open, given } = placeOf(
    root,
    before[0] === 'help' ? before.slice(1) : before,
  );
  const { candidates, fallback } = await all();
  return { candidates: candidates.filter(({ word }) => word.startsWith(current)), fallback };

  async function all(): Promise<Completion> {
    if (open !== undefined) return valuesOf(open.choices, valueKind(path, open.names));
    if (current.startsWith('-'))
      return onlyWords(
        optionsOf(root, node).flatMap(({ names, summary }) =>
          names.filter((word) => word.startsWith('--')).map((word) => ({ word, summary })),
        ),
      );
    if (node.commands.length > 0)
      return onlyWords(node.commands.map(({ name, summary }) => ({ word: name, summary })));
    // The last one may be repeated.
    const positional = node.positionals[Math.min(given, node.positionals.length - 1)];
    if (positional === undefined) return onlyWords([]);
    return valuesOf(positional.choices, valueKind(path, [positional.name]));
  }
}

async function valuesOf(
  choices: readonly string[],
  kind: ValueKind | undefined,
): Promise<Completion> {
  if (choices.length > 0) return onlyWords(plain(choices));
  if (kind === 'file') return { candidates: [], fallback: 'files' };
  if (kind === 'directory') return { candidates: [], fallback: 'directories' };
  return onlyWords(kind === undefined || kind === 'text' ? [] : plain(await namesOf(kind)));
}

function onlyWords(candidates: readonly Candidate[]): Completion {
  return { candidates, fallback: 'nothing' };
}

/** A command has the options of the root, too. */
function optionsOf(root: CommandNode, node: CommandNode): readonly OptionNode[] {
  const own = new Set(node.options.flatMap(({ names }) => names));
  const others = root.options.filter(({ names }) => !names.some((name) => own.has(name)));
  return [...node.options, ...others.filter(({ names }) => !names.includes('--version'))];
}

function plain(words: readonly string[]): Candidate[] {
  return words.map((word) => ({ word, summary: '' }));
}

interface Place {
  readonly path: readonly string[];
  readonly node: CommandNode;
  /** The option whose value comes next. */
  readonly open: OptionNode | undefined;
  /** Number of positional arguments so far. */
  readonly given: number;
}

function placeOf(root: CommandNode, words: readonly string[]): Place {
  let place: Place = { path: [], node: root, open: undefined, given: 0 };
  for (const word of words) {
    const { path, node, open, given } = place;
    if (open !== undefined) {
      place = { ...place, open: undefined };
      continue;
    }
    if (word.startsWith('-')) {
      const option = optionsOf(root, node).find(({ names }) => names.includes(word));
      place = { ...place, open: option?.takesValue === true ? option : undefined };
      continue;
    }
    const command = node.commands.find(({ name }) => name === word);
    place =
      command === undefined
        ? { ...place, given: given + 1 }
        : { path: [...path, word], node: command, open: undefined, given: 0 };
  }
  return place;
}
