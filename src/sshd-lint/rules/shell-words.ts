/** A command line as a POSIX shell reads it. */
export interface ShellCommand {
  /** Without their quotes; those before the first operator or comment. */
  readonly words: readonly string[];
  /** `;`, `|` and `&` outside of quotes: another command runs as well. */
  readonly startsAnother: boolean;
  /** Whatever else a shell would interpret: variables, patterns, redirections, an open quote. */
  readonly interpreted: boolean;
}

/** The program of a forced command, behind the shell's `exec`. */
export function forcedProgram(command: string): string | undefined {
  const [first, second] = shellCommand(command).words;
  return first === 'exec' ? second : first;
}

/** Splits a command line into words, and says what else a shell would make of it. */
export function shellCommand(text: string): ShellCommand {
  const words: string[] = [];
  let word: string | undefined;
  let startsAnother = false;
  let interpreted = false;
  const piece =
    /(?<space>\s+)|'(?<single>[^']*)'|"(?<double>(?:[^"\\]|\\[\s\S])*)"|\\(?<escaped>[\s\S])|(?<operator>[;&|])|(?<plain>[\w@%+=:,./-]+)|(?<other>[\s\S])/g;
  for (const { groups = {} } of text.matchAll(piece)) {
    const { space, single, double, escaped, operator, plain, other } = groups;
    if (other === '#' && word === undefined) break;
    startsAnother ||= operator !== undefined;
    interpreted ||= other !== undefined || /(?<!\\)[$`]/.test(double ?? '');
    if (space !== undefined || operator !== undefined) {
      if (word !== undefined) words.push(word);
      word = undefined;
      if (operator !== undefined) break;
    } else {
      const unescaped = double?.replaceAll(/\\(["$`\\])/g, '$1');
      word = (word ?? '') + (single ?? unescaped ?? escaped ?? plain ?? other ?? '');
    }
  }
  if (word !== undefined) words.push(word);
  return { words, startsAnother, interpreted };
}
