import { escapedForTerminal } from '../../log.ts';

/** Seconds as text: `7 h 59 min`, `12 min`, `30 s`. */
export function durationText(total: number): string {
  const minutes = Math.round(total / 60);
  if (total < 90) return `${Math.round(total)} s`;
  if (minutes < 60) return `${minutes} min`;
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60];
  if (hours >= 48) return `${Math.round(hours / 24)} days`;
  return rest === 0 ? `${hours} h` : `${hours} h ${rest} min`;
}

/** Seconds since the epoch as RFC 3339, UTC, without fractions. */
export function timestamp(epoch: number): string {
  return new Date(epoch * 1000).toISOString().replace('.000Z', 'Z');
}

/** In this process's time zone, as `loginctl` and `who` show it. */
export function localTime(epoch: number): string {
  const at = new Date(epoch * 1000);
  const day = `${at.getFullYear()}-${twoDigits(at.getMonth() + 1)}-${twoDigits(at.getDate())}`;
  return `${day} ${twoDigits(at.getHours())}:${twoDigits(at.getMinutes())}`;
}

export function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}

/** `40s`, `5m`, `3h05m`, `2d4h`; `-` if unknown. */
export function shortTime(seconds: number | undefined): string {
  if (seconds === undefined) return '-';
  const [minutes, hours, days] = [60, 3600, 86_400].map((unit) => Math.floor(seconds / unit));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${minutes}m`;
  if (seconds < 86_400) return `${hours}h${twoDigits((minutes ?? 0) % 60)}m`;
  return `${days}d${(hours ?? 0) % 24}h`;
}

/** As `du -h` shows it. */
export function sizeText(bytes: number): string {
  const units = ['K', 'M', 'G', 'T'];
  let value = bytes / 1024;
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value >= 10 || unit === 0 ? Math.round(value) : value.toFixed(1)}${units[unit] ?? ''}`;
}

/** Lines, each with its end. Control characters are escaped. */
export function escapedLines(lines: readonly string[]): string {
  return lines.map((line) => `${escapedForTerminal(line)}\n`).join('');
}

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
