/**
 * Limit of words, line ends, commas and brackets, about 2,500 clusters of a kubeconfig. The parser takes about 5 µs for
 * each scalar.
 */
const mostParts = 100_000;

/** Limit of anchors and aliases: each alias is looked up among all of them. */
const mostReferences = 200;

/** Limit of lists and mappings that are keys (`? `, `[a]: b`): nested ones take the cube of their number. */
const mostComplexKeys = 20;

/**
 * Why a text should not be given to the YAML parser, which takes the square or the cube of such parts. This takes time that
 * grows with the length only, so it does not know quotes and comments: it counts what is in them, too.
 *
 * @returns what there is too much of; undefined if the text is within the limits
 */
export function excessOfYaml(text: string): string | undefined {
  let [parts, references, complexKeys] = [0, 0, 0];
  /** The last character that is not blank, and whether blanks are between. */
  let [before, apart] = ['\n', false];
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (character === ' ' || character === '\t') {
      apart = true;
      continue;
    }
    const begins = apart || '\n\r,:-?[{'.includes(before);
    if ('\n\r,{}[]'.includes(character) || (apart && before !== '\n')) parts += 1;
    if (begins && (character === '&' || character === '*')) references += 1;
    if (begins && character === '?' && ' \t\r\n'.includes(text.charAt(at + 1))) complexKeys += 1;
    if (character === ':' && (before === ']' || before === '}')) complexKeys += 1;
    [before, apart] = [character, false];
  }
  if (parts > mostParts) return `more than ${mostParts} entries`;
  if (references > mostReferences) return `more than ${mostReferences} anchors and aliases`;
  if (complexKeys > mostComplexKeys)
    return `more than ${mostComplexKeys} lists and mappings as keys`;
  return undefined;
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
