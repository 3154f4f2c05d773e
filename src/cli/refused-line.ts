import { BerthError } from '../errors.ts';
import { usageText } from './usage-text.ts';

/** What yargs knows of the command that is being read, which its types leave out. */
interface ParserState {
  readonly getOptions: () => {
    readonly key: Readonly<Record<string, unknown>>;
    readonly array: readonly string[];
  };
  readonly getInternalMethods: () => {
    readonly getContext: () => {
      readonly commands: readonly string[];
      readonly fullCommands: readonly string[];
    };
    readonly getCommandInstance: () => { readonly getCommands: () => readonly string[] };
  };
}

/** Errors that yargs throws without `fail()`: of `.check()` or a missing argument. */
export function isYargsError(thrown: unknown): thrown is Error {
  return thrown instanceof Error && thrown.name === 'YError';
}

/** A command line that yargs refuses, as an error with the help to read. */
export function refused(parser: unknown, message: string, args: readonly string[]): BerthError {
  const { getOptions, getInternalMethods } = parser as ParserState;
  const { getContext, getCommandInstance } = getInternalMethods.call(parser);
  const { commands, fullCommands } = getContext();
  const text = usageText({
    ...{ message, args },
    options: Object.keys(getOptions.call(parser).key),
    commands: getCommandInstance().getCommands(),
    command: fullCommands.at(-1) ?? '',
  });
  return new BerthError(text, {
    code: 'usage',
    hint: `See \`${['berth', ...commands].join(' ')} --help\`.`,
  });
}

/** A word that is none of these commands. */
export function unknownCommand(
  word: string,
  known: readonly { readonly name: string }[],
): BerthError {
  const commands = known.map(({ name }) => name);
  const message = `Unknown command: ${word}`;
  return new BerthError(usageText({ message, args: [word], options: [], commands, command: '' }), {
    code: 'usage',
    hint: 'See `berth --help`.',
  });
}

/**
 * Refuses options that are given twice and take one value.
 *
 * @returns true, as yargs wants it
 * @throws BerthError `usage`
 */
export function onceEach(
  parser: unknown,
  argv: Readonly<Record<string, unknown>>,
  args: readonly string[],
): true {
  const { key: declared, array } = (parser as ParserState).getOptions.call(parser);
  const lists = new Set(array);
  // Not the other spelling that yargs adds: `hostKey` for `host-key`.
  const twice = Object.keys(declared).find((name) => Array.isArray(argv[name]) && !lists.has(name));
  if (twice === undefined) return true;
  const option = `${twice.length === 1 ? '-' : '--'}${twice}`;
  throw refused(parser, `${option} may be given only once`, args);
}
