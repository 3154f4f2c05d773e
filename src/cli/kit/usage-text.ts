import { nearestKey } from '../../config/schema/nearest-key.ts';
import type { BerthError } from '../../system/errors/berth-error.ts';
import { usageError } from '../../system/errors/usage-error.ts';
import { type CommandNode, namedCommand, optionsAt } from './command.ts';

/**
 * A command line that is refused, with what a mistyped word probably means, and the help to read.
 *
 * @param message a sentence of yargs, or of `checkOptions`
 */
export function refused(root: CommandNode, words: readonly string[], message: string): BerthError {
  const { path, node } = namedCommand(root, words);
  const names = [
    ...node.commands.map(({ name }) => name),
    ...optionsAt(root, node).flatMap((option) => option.names),
  ];
  const [, unknown] = /^Unknown arguments?: ([^,]*)/.exec(message) ?? [];
  const text = message.startsWith('Not enough non-option arguments')
    ? `Missing argument: ${node.command}`
    : // Wrong values stand on lines of their own.
      message.replaceAll(/\s+/g, ' ');
  const meant = unknown === undefined ? '' : didYouMean(unknown, names);
  return usageError(['berth', ...path].join(' '), text + meant);
}

/** What follows the message about an unknown name; '' if it is near none of the known ones. */
export function didYouMean(name: string, known: readonly string[]): string {
  const bare = known.map((one) => one.replace('--', ''));
  // Any letter is near any other.
  const near = name.length === 1 ? undefined : nearestKey(name, bare);
  return near === undefined ? '' : ` (did you mean ${known[bare.indexOf(near)]}?)`;
}
