import { nearestKey } from '../../config/schema/nearest-key.ts';
import { BerthError } from '../../errors/berth-error.ts';
import { usageError } from '../../errors/usage-error.ts';
import { type CommandPlace, commandPlace, optionsAt } from './command-place.ts';
import type { CommandNode } from './command.ts';

/**
 * What yargs says instead of its own sentences, through its `updateStrings`: a code and the names that it fills in.
 * `usageText` makes sentences of them.
 */
const parserStrings = {
  'Unknown argument: %s': { one: 'unknown %s', other: 'unknown %s' },
  'Unknown command: %s': { one: 'unknown %s', other: 'unknown %s' },
  'Too many non-option arguments: got %s, maximum of %s': { one: 'unknown', other: 'unknown' },
  'Not enough non-option arguments: got %s, need at least %s': { one: 'words', other: 'words' },
  'Missing required argument: %s': { one: 'required %s', other: 'required %s' },
  'Not enough arguments following: %s': 'valueless %s',
  'Invalid values:': 'values',
  'Argument: %s, Given: %s, Choices: %s': '%s\t%s\t%s',
};

/** yargs' types know texts only; those with a number have two. */
export const asStrings = parserStrings as unknown as Readonly<Record<string, string>>;

/**
 * Says what is wrong with a command line.
 *
 * @param message in the codes of `parserStrings`, or a sentence of a command
 * @param names of the options and commands that could be meant
 */
function usageText(
  message: string,
  place: CommandPlace,
  names: { readonly options: readonly string[] },
): string {
  const { node, words, unknown } = place;
  // A mistyped option may be the reason for all else.
  if (unknown.length > 0)
    return unknown.map((word) => unknownText('option', word, names.options)).join('; ');
  const [code = '', ...rest] = message.trim().split(/\s+/);
  switch (code) {
    case 'unknown': {
      const commands = node.commands.map(({ name }) => name);
      const extra = words.slice(node.positionals.length);
      const [first = rest.join(' ')] = extra;
      if (commands.length > 0) return unknownText('command', first, commands);
      return extra.length === 0 ? `unknown ${first}` : `unexpected argument ${extra.join(' ')}`;
    }
    case 'words':
      return areMissing(node.positionals.slice(words.length).map(({ name }) => name.toUpperCase()));
    case 'required':
      return areMissing(rest.join(' ').split(', ').map(dashed));
    case 'valueless':
      return `${dashed(rest.join(' '))} needs a value`;
    case 'values':
      return message
        .trim()
        .split('\n')
        .slice(1)
        .map((line) => wrongValueText(line.trim(), place))
        .join('; ');
    default:
      return message;
  }
}

/** @param known the names that could be meant */
export function unknownText(what: string, word: string, known: readonly string[]): string {
  const name = word.replace(/^-+/, '');
  // Any letter is near any other.
  const bare = known.map((one) => one.replace(/^-+/, ''));
  const near = name.length === 1 ? undefined : nearestKey(name, bare);
  const meant = near === undefined || near === name ? undefined : known[bare.indexOf(near)];
  return `unknown ${what} ${word}${meant === undefined ? '' : ` (did you mean ${meant}?)`}`;
}

function areMissing(names: readonly string[]): string {
  return `${new Intl.ListFormat('en-GB').format(names)} ${names.length === 1 ? 'is' : 'are'} missing`;
}

function wrongValueText(line: string, { node }: CommandPlace): string {
  const [name = '', given = '', choices = ''] = line.split('\t');
  const isWord = node.positionals.some((one) => one.name === name);
  const known = choices.replaceAll('"', '').split(', ').join(' or ');
  return `${isWord ? name.toUpperCase() : dashed(name)} ${given.replaceAll('"', '')}: must be ${known}`;
}

function dashed(option: string): string {
  return option.length === 1 ? `-${option}` : `--${option}`;
}

/** Errors that yargs throws without `fail()`: of `.check()` or a missing argument. */
export function isYargsError(thrown: unknown): thrown is Error {
  return thrown instanceof Error && thrown.name === 'YError';
}

/** A command line that yargs refuses, as an error with the help to read. */
export function refused(root: CommandNode, message: string, place: CommandPlace): BerthError {
  const options = optionsAt(root, place.node).flatMap(({ names }) => names);
  return usageError(nameOf(place.path), usageText(message, place, { options }));
}

function nameOf(path: readonly string[]): string {
  return ['berth', ...path].join(' ');
}

/** @throws BerthError `usage` if a word is no command where only commands can be */
export function assertCommands(root: CommandNode, args: readonly string[]): void {
  const { node, path, words } = commandPlace(root, args);
  const [word] = words;
  const commands = node.commands.map(({ name }) => name);
  // `render` is a command, and has some.
  if (word !== undefined && commands.length > 0)
    throw usageError(nameOf(path), unknownText('command', word, commands));
}

/**
 * Refuses options that are given twice and take one value, that the command would ignore, and numbers that are none.
 *
 * @throws BerthError `usage`
 */
export function assertValues(place: CommandPlace): void {
  const command = nameOf(place.path);
  const { given } = place;
  for (const [index, [option, value]] of given.entries()) {
    const [name = ''] = option.names;
    if (!option.isList && given.slice(0, index).some(([other]) => other === option))
      throw usageError(command, `${name} may be given only once`);
    if (option.isNumber && value !== undefined && Number.isNaN(Number(value || 'none')))
      throw usageError(command, `${name} ${value}: must be a number`);
  }
  const ignored = ignoredOption(place);
  if (ignored !== undefined) throw usageError(command, ignored);
}

/** @returns which option would be ignored, and why; undefined if none */
function ignoredOption({
  node: { needs = {}, without = {} },
  given,
}: CommandPlace): string | undefined {
  const words = new Set(
    given.flatMap(([{ names }, value]) => [names[0] ?? '', `${names[0]} ${value}`]),
  );
  const lacking = Object.entries(needs).find(
    ([option, other]) => words.has(option) && !words.has(other),
  );
  if (lacking !== undefined) return lacking.join(' needs ');
  for (const [option, others] of Object.entries(without)) {
    const other = words.has(option) ? others.find((one) => words.has(one)) : undefined;
    if (other !== undefined) return `${option} cannot be used with ${other}`;
  }
  return undefined;
}
