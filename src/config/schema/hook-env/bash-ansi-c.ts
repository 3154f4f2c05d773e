const letters: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  e: '\x1b',
  E: '\x1b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  "'": "'",
  '"': '"',
  '?': '?',
};

const escape =
  /\\(?:([abeEfnrtv\\'"?])|([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|([uU])([0-9A-Fa-f]{1,8})|(x\{)|c(\\\\|[\s\S])?)/g;

/**
 * Decodes the text between the quotes of bash's `$'…'` into bytes, one character each (bash(1), QUOTING). An
 * unknown escape is kept. Escapes whose meaning depends on the locale or on bash's version, and a NUL,
 * which would truncate the value, are a `problem`.
 */
export function decodeAnsiC(raw: string): { text: string } | { problem: string } {
  let problem: string | undefined;
  const byte = (value: number): string => {
    if (value % 256 === 0) problem ??= "a NUL in `$'…'`, at which bash cuts the value";
    return String.fromCharCode(value % 256);
  };
  const text = raw.replace(
    escape,
    (
      all: string,
      letter: string | undefined,
      octal: string | undefined,
      hex: string | undefined,
      unicode: string | undefined,
      digits: string | undefined,
      brace: string | undefined,
      control: string | undefined,
    ) => {
      if (letter !== undefined) return letters[letter] ?? all;
      if (octal !== undefined) return byte(Number.parseInt(octal, 8));
      if (hex !== undefined) return byte(Number.parseInt(hex, 16));
      if (unicode !== undefined && digits !== undefined) {
        // \u takes at most four digits, \U eight.
        const taken = unicode === 'u' ? digits.slice(0, 4) : digits;
        const code = Number.parseInt(taken, 16);
        if (code > 0x7f) problem ??= `\`\\${unicode}\` beyond ASCII, which depends on the locale`;
        return byte(code & 0x7f) + digits.slice(taken.length);
      }
      if (brace !== undefined) problem ??= '`\\x{`, which bash does not document';
      else if (control === '\\\\') return '\x1c';
      else if (control === '?') return '\x7f';
      else if (control !== undefined && /[A-Za-z[\]^_]/.test(control)) {
        return byte(control.toUpperCase().charCodeAt(0) & 0x1f);
      } else problem ??= '`\\c` without a control character';
      return all;
    },
  );
  return problem === undefined ? { text } : { problem };
}
