import { BerthError } from '../errors.ts';
import { commandPlace, optionsAt } from './command-place.ts';
import type { CommandNode } from './command-tree.ts';
import { ignoredOption } from './option-rules.ts';
import { unknownText, usageText } from './usage-text.ts';

/** Errors that yargs throws without `fail()`: of `.check()` or a missing argument. */
export function isYargsError(thrown: unknown): thrown is Error {
  return thrown instanceof Error && thrown.name === 'YError';
}

/** A command line that yargs refuses, as an error with the help to read. */
export function refused(root: CommandNode, message: string, args: readonly string[]): BerthError {
  const place = commandPlace(root, args);
  const options = optionsAt(root, place.node).flatMap(({ names }) => names);
  return usage(usageText(message, place, { options }), place.path);
}

function usage(text: string, path: readonly string[]): BerthError {
  return new BerthError(text, {
    code: 'usage',
    hint: `See \`${['berth', ...path].join(' ')} --help\`.`,
  });
}

/** @throws BerthError `usage` if a word is no command where only commands can be */
export function assertCommands(root: CommandNode, args: readonly string[]): void {
  const { node, path, words } = commandPlace(root, args);
  const [word] = words;
  const commands = node.commands.map(({ name }) => name);
  // `render` is a command, and has some.
  if (word !== undefined && commands.length > 0)
    throw usage(unknownText('command', word, commands), path);
}

/**
 * Refuses options that are given twice and take one value, that the command would ignore, and numbers that are none.
 *
 * @throws BerthError `usage`
 */
export function assertValues(root: CommandNode, args: readonly string[]): void {
  const place = commandPlace(root, args);
  const { given, path } = place;
  for (const [index, [option, value]] of given.entries()) {
    const [name = ''] = option.names;
    if (!option.isList && given.slice(0, index).some(([other]) => other === option))
      throw usage(`${name} may be given only once`, path);
    if (option.isNumber && value !== undefined && Number.isNaN(Number(value || 'none')))
      throw usage(`${name} ${value}: must be a number`, path);
  }
  const ignored = ignoredOption(place);
  if (ignored !== undefined) throw usage(ignored, path);
}
