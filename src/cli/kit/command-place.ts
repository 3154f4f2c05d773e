import type { CommandNode, OptionNode } from './command.ts';

/** What a command line names so far. */
export interface CommandPlace {
  /** Names of the commands, without `berth`. */
  readonly path: readonly string[];
  readonly node: CommandNode;
  /** The option whose value comes next. */
  readonly open: OptionNode | undefined;
  /** Words that are no command, no option and no value of one. */
  readonly words: readonly string[];
  /** Options with the value that was given to each; undefined if it has none. */
  readonly given: readonly (readonly [OptionNode, string | undefined])[];
  /** Options that the command does not have, as they were written. */
  readonly unknown: readonly string[];
}

/** Reads a command line as yargs does. */
export function commandPlace(root: CommandNode, words: readonly string[]): CommandPlace {
  let place: CommandPlace = {
    path: [],
    node: root,
    open: undefined,
    words: [],
    given: [],
    unknown: [],
  };
  for (const [index, word] of words.entries()) {
    if (word === '--')
      return { ...place, open: undefined, words: [...place.words, ...words.slice(index + 1)] };
    place = next(root, place, word);
  }
  return place;
}

function next(root: CommandNode, place: CommandPlace, word: string): CommandPlace {
  const { path, node, open, given } = place;
  if (isOption(word)) return withOption(root, place, word);
  if (open !== undefined)
    return { ...place, open: open.isList ? open : undefined, given: [...given, [open, word]] };
  const command = node.commands.find(({ name }) => name === word);
  if (command === undefined || place.words.length > 0)
    return { ...place, words: [...place.words, word] };
  return { ...place, path: [...path, word], node: command };
}

/** Not a negative number, and not `-`. */
function isOption(word: string): boolean {
  return /^-[^0-9.]/.test(word);
}

function withOption(root: CommandNode, place: CommandPlace, word: string): CommandPlace {
  const known = optionsAt(root, place.node);
  const [name = '', ...values] = word.split('=');
  const names = name.startsWith('--')
    ? [name]
    : Array.from(name.slice(1), (letter) => `-${letter}`);
  const options = names.map((one) => known.find((option) => option.names.includes(one)));
  const last = options.at(-1);
  const unknown = names.filter((_, index) => options[index] === undefined);
  if (last === undefined || unknown.length > 0)
    return { ...place, open: undefined, unknown: [...place.unknown, ...unknown] };
  const found = options.flatMap((option) => option ?? []);
  const flags = found.filter((option) => !option.takesValue || values.length > 0);
  const value = values.length > 0 ? values.join('=') : undefined;
  return {
    ...place,
    open: last.takesValue && value === undefined ? last : undefined,
    given: [
      ...place.given,
      ...flags.map((option) => [option, option === last ? value : undefined] as const),
    ],
  };
}

/** A command has the options of the root, too. */
export function optionsAt(root: CommandNode, node: CommandNode): readonly OptionNode[] {
  const own = new Set(node.options.flatMap(({ names }) => names));
  const others = root.options.filter(({ names }) => !names.some((name) => own.has(name)));
  return [
    ...node.options,
    ...others.filter(({ names }) => node === root || !names.includes('--version')),
  ];
}

/** `-ojson` as `-o json`: kubectl and getopt(3) accept it, yargs takes each letter for an option. */
export function splitShortOutput(args: readonly string[]): string[] {
  const end = args.includes('--') ? args.indexOf('--') : args.length;
  return args.flatMap((arg, n) => {
    const [, letters, value] = /^(-[A-Za-z]*o)(text|wide|json|yaml)$/.exec(arg) ?? [];
    return letters === undefined || value === undefined || n > end ? [arg] : [letters, value];
  });
}

/**
 * Whether errors are wanted as JSON, also of a command line that cannot be parsed.
 *
 * @param args from `splitShortOutput`, as `-o json`, `--output=json`, or with other letters before the `o`: `-Ao json`
 */
export function asksForJson(args: readonly string[]): boolean {
  const option = /^(?:--output|-[A-Za-z]*o)(=json)?$/;
  return args.some((arg, n) => {
    const found = option.exec(arg);
    return found !== null && (found[1] !== undefined || args[n + 1] === 'json');
  });
}
