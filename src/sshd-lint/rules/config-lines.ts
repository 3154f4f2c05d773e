/** A line of sshd_config(5), neither empty nor a comment. */
export interface SshdConfigLine {
  readonly line: number;
  /** Lower case. */
  readonly keyword: string;
  /** The arguments, without quotes. */
  readonly args: readonly string[];
  /** Everything after the keyword, unchanged: the value of ForceCommand. */
  readonly rest: string;
}

/** Splits sshd_config(5) as sshd does: `Keyword value`, `Keyword=value`, quoted arguments, comments. */
export function parseSshdConfigLines(text: string): SshdConfigLine[] {
  return text.split('\n').flatMap((whole, index) => {
    const [, keyword, rest] = /^[ \t]*([^\s"'#=]+)[ \t]*=?[ \t]*(.*?)\s*$/.exec(whole) ?? [];
    if (keyword === undefined || rest === undefined) return [];
    return [{ line: index + 1, keyword: keyword.toLowerCase(), args: wordsOf(rest), rest }];
  });
}

/** An argument that begins with `#` ends the line. */
function wordsOf(rest: string): string[] {
  const args: string[] = [];
  for (const [word] of rest.matchAll(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g)) {
    if (word.startsWith('#')) break;
    args.push(
      word.replaceAll(/"([^"]*)"|'([^']*)'/g, (_, double, single) => String(double ?? single)),
    );
  }
  return args;
}
