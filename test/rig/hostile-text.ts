/** What makes parsers slow: openings without ends, ends without openings, escapes, blanks, line ends, separators. */
export const hostilePieces = [
  ...['{', '}', '[', ']', '} ', '] ', '{"a":', '[[', '": "', '- ', '? ', ': ', 'k: v\n', '- - '],
  ...['&a ', '*a,', '&a [', '<<: *a\n', '!t ', '!!set ', '---\n', '...\n', '%TAG ! a:\n', '|\n'],
  ...[
    '>-\n  x\n',
    '"',
    "'",
    '\\',
    '\\"',
    '\\2C',
    '\\\\',
    '# ',
    '#\n',
    '\n',
    '\r\n',
    '\r',
    ' ',
    '\t',
  ],
  ...[
    '   x\n',
    ',',
    ', ',
    ';',
    '=',
    'cn=a,',
    'cn=a+',
    '"a",',
    '.',
    'eyJh',
    '/',
    '//',
    ':',
    'a:',
    '@',
  ],
  ...['-----BEGIN CERTIFICATE-----\n', 'QUJD', '\0', '\ufeff', 'é', '\ud800', '1_', '0x', '-'],
];

/** A piece over and over; a piece in the middle of others, or at their ends; pieces in turns. */
export function hostileText(random: () => number, length: number): string {
  const piece = (): string => hostilePieces[Math.floor(random() * hostilePieces.length)] ?? '';
  const unit = Array.from({ length: 1 + Math.floor(random() * 3) }, piece).join('');
  const body = unit.repeat(Math.ceil(length / unit.length)).slice(0, length);
  return `${random() < 0.5 ? piece() : ''}${body}${random() < 0.5 ? piece() : 'x'}`;
}
