import { nearestKey } from '../config/nearest-key.ts';

/** What the parser of the command line knows when it refuses one. */
export interface RefusedLine {
  /** What yargs says. */
  readonly message: string;
  /** The words that were given. */
  readonly args: readonly string[];
  /** Names of the command's options, without dashes. */
  readonly options: readonly string[];
  /** Names of the subcommands that could follow. */
  readonly commands: readonly string[];
  /** The command as it is declared: `completion <shell>`. */
  readonly command: string;
}

/**
 * Says what is wrong with a command line. yargs names an unknown option in each spelling that it accepts (`idle-ovr,
 * idleOvr`), without dashes, and without the option that was probably meant.
 */
export function usageText(line: RefusedLine): string {
  const text = line.message.trim().replaceAll(/\s+/g, ' ');
  const [, names] = /^Unknown (?:arguments?|commands?): (.+)$/.exec(text) ?? [];
  if (names !== undefined) return unknownText(names.split(', '), line) ?? text;
  const [, valueless] = /^Not enough arguments following: (.+)$/.exec(text) ?? [];
  if (valueless !== undefined) return `${dashed(valueless)} needs a value`;
  const [, missing] = /^Missing required arguments?: (.+)$/.exec(text) ?? [];
  if (missing !== undefined) {
    const options = missing.split(', ').map(dashed);
    return `${options.join(' and ')} ${options.length === 1 ? 'is' : 'are'} missing`;
  }
  if (text.startsWith('Not enough non-option arguments')) return missingWordText(line.command);
  const wrong = [
    ...text.matchAll(/Argument: (\S+), Given: (.+?), Choices: ((?:"[^"]*"(?:, )?)+)/g),
  ];
  if (wrong.length > 0) return wrong.map(wrongValueText).join('; ');
  // The subcommand is what yargs asks for first, also if a mistyped option is all there is.
  const [first] = line.args;
  if (text === 'a command is missing' && first?.startsWith('-') === true)
    return unknownText([first.replace(/^-+/, '').split('=', 1)[0] ?? ''], line) ?? text;
  return text;
}

/** @returns undefined if none of the names is a word of the command line */
function unknownText(
  names: readonly string[],
  { args, options, commands }: RefusedLine,
): string | undefined {
  // A word that looks like an option in another way, such as a part of `-xyz`, stays as yargs says it.
  const given = names.filter((name) => writtenIn(args, name) !== undefined);
  if (given.length === 0) return undefined;
  const parts = given.map((name) => {
    const word = writtenIn(args, name) ?? name;
    const isOption = word.startsWith('-');
    if (!isOption && commands.length === 0) return `unexpected argument ${word}`;
    // Any letter is near any other.
    const near = name.length === 1 ? undefined : nearestKey(name, isOption ? options : commands);
    const meant = isOption && near !== undefined ? dashed(near) : near;
    return `unknown ${isOption ? 'option' : 'command'} ${word}${meant === undefined ? '' : ` (did you mean ${meant}?)`}`;
  });
  return parts.join('; ');
}

function missingWordText(command: string): string {
  const words = [...command.matchAll(/<([\w-]+)(?:\.\.)?>/g)].map(([, word = '']) => word);
  return `${words.join(' and ').toUpperCase()} ${words.length === 1 ? 'is' : 'are'} missing`;
}

function wrongValueText([, option = '', given = '', choices = '']: readonly string[]): string {
  const known = choices.split(', ').map((choice) => choice.replaceAll('"', ''));
  return `${dashed(option)} ${given.replaceAll('"', '')}: must be ${known.join(' or ')}`;
}

/** As the admin wrote it: `--idle-ovr`, `-q`, or a word. */
function writtenIn(args: readonly string[], name: string): string | undefined {
  const spellings = [`--${name}`, `-${name}`, name];
  return args.map((arg) => arg.split('=', 1)[0] ?? '').find((arg) => spellings.includes(arg));
}

function dashed(option: string): string {
  return option.length === 1 ? `-${option}` : `--${option}`;
}
