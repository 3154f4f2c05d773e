import type { BerthError } from '../../errors/berth-error.ts';
import { type CommandPlace, commandPlace, optionsAt } from './command-place.ts';
import type { CommandNode } from './command-tree.ts';
import { ignoredOption } from './option-rules.ts';
import { unknownText, usageText } from './usage-text.ts';
import { usageError } from '../../errors/usage-error.ts';

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
