import type { CommandNode, OptionNode } from './command-tree.ts';
import { namesOf, type NameKind } from './known-names.ts';

/** What can follow a command line. */
export interface Candidate {
  readonly word: string;
  /** One line, or ''. */
  readonly summary: string;
}

/** Options and positional arguments whose values are names of this site. */
const kinds: Readonly<Record<string, NameKind>> = {
  '--user': 'user',
  '--cluster': 'cluster',
  '--profile': 'profile',
  '--kind': 'kind',
  'explain word': 'explained',
  'sessions show session': 'user',
  'sessions end session': 'user',
  'sshd new name': 'kind',
  'sshd check name': 'kind',
  'subid plan user': 'user',
  'subid apply user': 'user',
};

/**
 * The words that can be in the place of the last one.
 *
 * @param words after `berth`; the last one is being written and may be empty
 * @returns none where a path is expected, or where nothing is known
 */
export async function complete(root: CommandNode, words: readonly string[]): Promise<Candidate[]> {
  const current = words.at(-1) ?? '';
  const before = words.slice(0, -1);
  // `berth help` is followed by a command.
  const { path, node, open, given } = placeOf(
    root,
    before[0] === 'help' ? before.slice(1) : before,
  );
  return (await candidates()).filter(({ word }) => word.startsWith(current));

  async function candidates(): Promise<Candidate[]> {
    if (open !== undefined)
      return plain(open.choices.length > 0 ? open.choices : await known(open.names));
    if (current.startsWith('-'))
      return optionsOf(root, node).flatMap(({ names, summary }) =>
        names.filter((word) => word.startsWith('--')).map((word) => ({ word, summary })),
      );
    if (node.commands.length > 0)
      return node.commands.map(({ name, summary }) => ({ word: name, summary }));
    // The last one may be repeated.
    const positional = node.positionals[Math.min(given, node.positionals.length - 1)];
    if (positional === undefined) return [];
    const { choices, name } = positional;
    return plain(choices.length > 0 ? choices : await known([[...path, name].join(' ')]));
  }
}

/** A command has the options of the root, too. */
function optionsOf(root: CommandNode, node: CommandNode): readonly OptionNode[] {
  const own = new Set(node.options.flatMap(({ names }) => names));
  const others = root.options.filter(({ names }) => !names.some((name) => own.has(name)));
  return [...node.options, ...others.filter(({ names }) => !names.includes('--version'))];
}

async function known(names: readonly string[]): Promise<readonly string[]> {
  const kind = names.map((name) => kinds[name]).find((one) => one !== undefined);
  return kind === undefined ? [] : namesOf(kind);
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
