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

/** OpenSSH's release as one number: 902 is 9.2. */
export type SshdRelease = number;

/** The first releases that split all lines but Match, and then Match too, with `argv_split`. */
const argumentsSince: SshdRelease = 807;
const matchArgumentsSince: SshdRelease = 909;

/**
 * Splits sshd_config(5) as this release of sshd does, which has accepted the text: `load_server_config`,
 * `process_server_config_line_depth` and `match_cfg_line` of servconf.c.
 */
export function parseSshdConfigLines(
  text: string,
  release: SshdRelease = Infinity,
): SshdConfigLine[] {
  return text.split('\n').flatMap((whole, index) => {
    const bare = whole.replace(/^[ \t\r]+/, '').replace(/[ \t\r\f]+$/, '');
    const first = nextWord(release < argumentsSince ? bare.replace(/#.*$/s, '') : bare);
    const { word = '', rest = '' } =
      first?.word === '' ? (nextWord(first.rest) ?? {}) : (first ?? {});
    if (word === '' || word.startsWith('#') || rest === '') return [];
    const keyword = word.toLowerCase();
    const since = keyword === 'match' ? matchArgumentsSince : argumentsSince;
    const args = release < since ? wordsOf(rest) : argumentsOf(rest);
    return [{ line: index + 1, keyword, args, rest }];
  });
}

interface Word {
  readonly word: string;
  readonly rest: string;
}

/**
 * `strdelim` of misc.c: a word ends at blanks, at one `=` with the blanks around it, or with a double quote, which may
 * begin inside of it.
 *
 * @returns undefined if a quote is not closed
 */
function nextWord(text: string): Word | undefined {
  const end = text.search(/[ \t\r\n"=]/);
  if (end === -1) return { word: text, rest: '' };
  const before = text.slice(0, end);
  if (text[end] !== '"')
    return { word: before, rest: text.slice(end).replace(/^(?:=|[ \t\r\n]+=?)[ \t\r\n]*/, '') };
  const close = text.indexOf('"', end + 1);
  if (close === -1) return undefined;
  const rest = text.slice(close + 1).replace(/^[ \t\r\n]+/, '');
  return { word: before + text.slice(end + 1, close), rest };
}

/** The words up to a comment. */
function wordsOf(text: string): string[] {
  const words: string[] = [];
  let next = nextWord(text);
  while (next !== undefined && next.word !== '' && !next.word.startsWith('#')) {
    words.push(next.word);
    next = nextWord(next.rest);
  }
  return words;
}

/** `argv_split` of misc.c: both quotes, `\` before a quote, a `\` or (outside of quotes) a blank, and comments. */
function argumentsOf(text: string): string[] {
  const args: string[] = [];
  let current: string | undefined;
  let quote: string | undefined;
  for (const [piece] of text.matchAll(/\\[ "'\\]|[ \t"'\\]|[^ \t"'\\]+/g)) {
    if (current === undefined && piece.startsWith('#')) break;
    if (quote === undefined && /^[ \t]$/.test(piece)) {
      if (current !== undefined) args.push(current);
      current = undefined;
      continue;
    }
    current ??= '';
    const isEscape = /^\\./.test(piece) && !(piece === '\\ ' && quote !== undefined);
    if (piece === quote) quote = undefined;
    else if (quote === undefined && /^["']$/.test(piece)) quote = piece;
    else current += isEscape ? piece.slice(1) : piece;
  }
  return current === undefined ? args : [...args, current];
}
