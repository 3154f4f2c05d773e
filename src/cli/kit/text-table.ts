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
