/** A command line, parsed as a POSIX shell does. */
export interface ShellCommand {
  /** Without quotes, up to the first operator or comment. */
  readonly words: readonly string[];
  /** Whether `;`, `|` or `&` outside of quotes starts another command. */
  readonly startsAnother: boolean;
  /** Whether it contains anything else that a shell interprets: variables, patterns, redirections, an open quote. */
  readonly interpreted: boolean;
}

/** The program of a forced command, after `exec` if there is one. */
export function forcedProgram(command: string): string | undefined {
  const [first, second] = parseShellCommand(command).words;
  return first === 'exec' ? second : first;
}

/** Parses a command line. */
export function parseShellCommand(text: string): ShellCommand {
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
