import { commandPlace, optionsAt } from './kit/command-place.ts';
import type { CommandNode, PositionalNode } from './kit/command-tree.ts';
import { namesOf } from './known-names.ts';
import { isPlaceholder } from './kit/option-values.ts';

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
  const place = commandPlace(root, before[0] === 'help' ? before.slice(1) : before);
  const { node, open } = place;
  const { candidates, fallback } = await all();
  return { candidates: candidates.filter(({ word }) => word.startsWith(current)), fallback };

  async function all(): Promise<Completion> {
    if (current.startsWith('-'))
      return onlyWords(
        optionsAt(root, node).flatMap(({ names, summary, hidden }) =>
          names
            .filter((word) => word.startsWith('--') && !hidden)
            .map((word) => ({ word, summary })),
        ),
      );
    if (open !== undefined) return valuesOf(open);
    if (node.commands.length > 0)
      return onlyWords(node.commands.map(({ name, summary }) => ({ word: name, summary })));
    // The last one may be repeated.
    const positional = node.positionals[Math.min(place.words.length, node.positionals.length - 1)];
    if (positional === undefined) return onlyWords([]);
    return valuesOf(positional);
  }
}

async function valuesOf({
  choices,
  kind,
}: Pick<PositionalNode, 'choices' | 'kind'>): Promise<Completion> {
  if (choices.length > 0) return onlyWords(plain(choices));
  if (kind === 'file') return { candidates: [], fallback: 'files' };
  if (kind === 'directory') return { candidates: [], fallback: 'directories' };
  return onlyWords(kind === undefined || isPlaceholder(kind) ? [] : plain(await namesOf(kind)));
}

function onlyWords(candidates: readonly Candidate[]): Completion {
  return { candidates, fallback: 'nothing' };
}

function plain(words: readonly string[]): Candidate[] {
  return words.map((word) => ({ word, summary: '' }));
}
