/**
 * Words that are not UTF-8, which Node loses: SSH sends a command as bytes (RFC 4254, 6.5), and a file
 * name may be any. Here a byte that is no UTF-8 is a lone surrogate, U+DC80 to U+DCFF, which no text
 * holds (as Python's `surrogateescape`, PEP 383); `become` makes the byte of it again.
 */
const rawByte = /[\udc80-\udcff]/u;

export function holdsRawBytes(text: string): boolean {
  return rawByte.test(text);
}

/**
 * Node and Kubernetes hand on words of UTF-8 only; sh(1) hands on bytes. Its script is made of numbers:
 * what the words hold is never read as a script.
 *
 * @param words The first is the program.
 */
export function throughShell(words: readonly string[]): string[] {
  const parameters: string[] = [];
  const add = (parameter: string): string => `"\${${parameters.push(parameter)}}"`;
  const made: string[] = [];
  const quoted = words.map((word, index) => {
    if (!holdsRawBytes(word)) return add(word);
    // The x keeps newlines at the end, which $( ) takes away.
    made.push(`w${index}=$(printf %b ${escapedParts(word).map(add).join(' ')} x)`);
    return `"\${w${index}%x}"`;
  });
  const script = ['LC_ALL=C', ...made, `exec ${quoted.join(' ')}`].join('\n');
  return ['sh', '-c', script, 'sh', ...parameters];
}

/**
 * What sh(1) makes the bytes of again: `printf '%b'` with octal escapes, in parts that stay below the
 * kernel's limit of one argument (MAX_ARG_STRLEN, 128 KiB).
 */
function escapedParts(text: string): string[] {
  const parts: string[] = [];
  for (let start = 0; start < text.length;) {
    let end = Math.min(start + 20_000, text.length);
    // Never between the two halves of one character.
    if (/[\ud800-\udbff]/.test(text.charAt(end - 1))) end += 1;
    parts.push(
      text
        .slice(start, end)
        .replaceAll('\\', '\\\\')
        .replace(/[\udc80-\udcff]/gu, (byte) => `\\0${(byte.charCodeAt(0) - 0xdc00).toString(8)}`),
    );
    start = end;
  }
  return parts;
}
