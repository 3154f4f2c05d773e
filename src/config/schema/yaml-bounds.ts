/**
 * Limit of words, line ends, commas, brackets and backslashes, about 2,500 clusters of a kubeconfig. The parser takes about 5 µs for
 * each scalar.
 */
const mostParts = 100_000;

/** Limit of anchors and aliases: each alias is looked up among all of them. */
const mostReferences = 200;

/** Limit of lists and mappings that are keys (`? `, `[a]: b`): nested ones take the cube of their number. */
const mostComplexKeys = 20;

/** What makes the parser slow, and how often a text has it. */
interface YamlCounts {
  readonly parts: number;
  readonly references: number;
  readonly complexKeys: number;
  /** `[` and `{`. */
  readonly brackets: number;
}

/**
 * Counts in time that grows with the length only, so it does not know quotes and comments: what is in them counts, too.
 */
function countsOf(text: string): YamlCounts {
  let [parts, references, complexKeys, brackets] = [0, 0, 0, 0];
  /** The last character that is not blank, and whether blanks are between. */
  let [before, apart] = ['\n', false];
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (character === ' ' || character === '\t') {
      apart = true;
      continue;
    }
    const begins = apart || '\n\r,:-?[{'.includes(before);
    if ('\n\r,{}[]\\'.includes(character) || (apart && before !== '\n')) parts += 1;
    if (character === '[' || character === '{') brackets += 1;
    if (begins && (character === '&' || character === '*')) references += 1;
    if (begins && character === '?' && ' \t\r\n'.includes(text.charAt(at + 1))) complexKeys += 1;
    if (character === ':' && (before === ']' || before === '}')) complexKeys += 1;
    [before, apart] = [character, false];
  }
  return { parts, references, complexKeys, brackets };
}

/**
 * Why a text should not be given to the YAML parser, which takes the square or the cube of such parts.
 *
 * @returns what there is too much of; undefined if the text is within the limits
 */
export function excessOfYaml(text: string): string | undefined {
  const { parts, references, complexKeys } = countsOf(text);
  if (parts > mostParts) return `more than ${mostParts} entries`;
  if (references > mostReferences) return `more than ${mostReferences} anchors and aliases`;
  if (complexKeys > mostComplexKeys)
    return `more than ${mostComplexKeys} lists and mappings as keys`;
  return undefined;
}

/** The parser calls itself for each level; V8 ends the process if it has to compile a pattern where the stack ends. */
const mostLevels = 200;

/** Whether a text may be nested too deeply for the parser, by its indentation, its marks of lists and its brackets. */
export function isNestedTooDeeply(text: string): boolean {
  const columns: number[] = [];
  let brackets = 0;
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue;
    const start = /^(?:[-?](?= )| )*/.exec(line)?.[0] ?? '';
    if (start.replaceAll(' ', '').length > mostLevels) return true;
    const levels = [...start.matchAll(/[-?]/g)].map(({ index }) => index);
    const [first = start.length] = levels;
    while ((columns.at(-1) ?? -1) >= first) columns.pop();
    columns.push(...levels, start.length);
    for (const character of line)
      if ('[{'.includes(character)) brackets += 1;
      else if (']}'.includes(character)) brackets = Math.max(0, brackets - 1);
    if (columns.length + brackets > mostLevels) return true;
  }
  return false;
}

/**
 * Whether a text is short and plain, as kubectl writes the kubeconfig of fifty clusters: then the parser takes at most
 * 0.2 s, whatever the text is.
 */
export function isPlainYaml(text: string): boolean {
  if (text.length > 256 * 1024) return false;
  const { parts, references, complexKeys, brackets } = countsOf(text);
  const quotes = text.split(/["']/).length;
  return (
    parts + quotes <= 3_000 &&
    brackets <= 20 &&
    references + complexKeys === 0 &&
    !isNestedTooDeeply(text)
  );
}

/**
 * Whether a parsed value is larger than a text within the limits: what walks or prints it meets the parts that aliases share
 * again and again.
 */
export function isTooLargeWithAliases(value: unknown): boolean {
  const sizes = new Map<object, number>();
  const sizeOf = (part: unknown): number => {
    if (typeof part !== 'object' || part === null) return 1;
    const known = sizes.get(part);
    if (known !== undefined) return known;
    // An alias within its own anchor.
    sizes.set(part, Infinity);
    const size = Object.values(part).reduce((sum: number, child) => sum + sizeOf(child), 1);
    sizes.set(part, size);
    return size;
  };
  return sizeOf(value) > mostParts;
}
