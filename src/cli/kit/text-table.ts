import { escapedForTerminal } from '../../log.ts';

/**
 * Rows in columns, two blanks apart, as kubectl prints them. Control characters are escaped.
 *
 * @param headings the first line; undefined for none
 * @param right columns of numbers, which are aligned to the right
 */
export function textTable(
  headings: readonly string[] | undefined,
  rows: readonly (readonly string[])[],
  right: readonly number[] = [],
): string {
  const lines = [...(headings === undefined ? [] : [headings]), ...rows].map((row) =>
    row.map(escapedForTerminal),
  );
  const widths = (lines[0] ?? []).map((_, column) =>
    Math.max(...lines.map((line) => (line[column] ?? '').length)),
  );
  return lines
    .map((line) => {
      const cells = line.map((cell, column) => {
        const width = widths[column] ?? 0;
        return right.includes(column) ? cell.padStart(width) : cell.padEnd(width);
      });
      return `${cells.join('  ').trimEnd()}\n`;
    })
    .join('');
}

/** Lines of at most `width` characters; a word that is longer stays whole. */
export function wrapped(text: string, indent = '', hanging = indent, width = 80): string {
  const lines: string[] = [];
  let line = indent;
  for (const word of text.split(' ')) {
    const empty = line.trim() === '';
    if (!empty && line.length + 1 + word.length > width) {
      lines.push(line);
      line = hanging + word;
    } else line += empty ? word : ` ${word}`;
  }
  return [...lines, line].join('\n');
}
