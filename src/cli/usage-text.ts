import { nearestKey } from '../config/nearest-key.ts';

/** What the parser of the command line knows when it refuses one. */
export interface RefusedLine {
  /** What yargs says. */
  readonly message: string;
  /** The words that were given. */
  readonly args: readonly string[];
  /** Names of the command's options, without dashes. */
  readonly options: readonly string[];
}

/**
 * Says what is wrong with a command line. yargs names an unknown option in each spelling that it accepts (`idle-ovr,
 * idleOvr`), without dashes, and without the option that was probably meant.
 */
export function usageText({ message, args, options }: RefusedLine): string {
  const text = message.trim().replaceAll(/\s+/g, ' ');
  const [, names] = /^Unknown arguments?: (.+)$/.exec(text) ?? [];
  if (names === undefined) return text;
  const unknown = names.split(', ');
  const given = unknown.filter((name) => writtenIn(args, name) !== undefined);
  // A word that looks like an option in another way, such as a part of `-xyz`, stays as yargs says it.
  if (given.length === 0) return text;
  const parts = given.map((name) => {
    const option = writtenIn(args, name) ?? name;
    if (!option.startsWith('-')) return `unexpected argument ${option}`;
    // Any letter is near any other.
    const near = name.length === 1 ? undefined : nearestKey(name, options);
    return `unknown option ${option}${near === undefined ? '' : ` (did you mean ${dashed(near)}?)`}`;
  });
  return parts.join('; ');
}

/** As the admin wrote it: `--idle-ovr`, `-q`, or a word. */
function writtenIn(args: readonly string[], name: string): string | undefined {
  const spellings = [`--${name}`, `-${name}`, name];
  return args.map((arg) => arg.split('=', 1)[0] ?? '').find((arg) => spellings.includes(arg));
}

function dashed(option: string): string {
  return option.length === 1 ? `-${option}` : `--${option}`;
}
