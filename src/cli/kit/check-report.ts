import type { CheckResult, CheckStatus } from '../../system/errors/check-result.ts';
import { countText } from '../../system/text/count-text.ts';
import { escapedForTerminal } from '../../log.ts';
import { wrapped } from '../../system/text/wrapped-text.ts';
import { type Terminal, documentText, wantsColour } from './terminal.ts';

/** How results are marked. */
export interface ResultStyle {
  readonly colour: boolean;
  readonly unicode: boolean;
}

export function resultStyle({ stdout, env }: Pick<Terminal, 'stdout' | 'env'>): ResultStyle {
  return { colour: wantsColour(stdout, env), unicode: wantsUnicode(env) };
}

const marks: Readonly<Record<CheckStatus, { unicode: string; ascii: string; colour: string }>> = {
  ok: { unicode: '✓', ascii: 'ok  ', colour: '32' },
  warning: { unicode: '!', ascii: 'WARN', colour: '33' },
  failed: { unicode: '✗', ascii: 'FAIL', colour: '31' },
  skipped: { unicode: '-', ascii: 'skip', colour: '2' },
};

const noMark = { unicode: ' ', ascii: '    ', colour: '0' };

/** The results as text: this host first, then each cluster; each next step below its result. */
export function checksText(results: readonly CheckResult[], style: ResultStyle): string {
  const width = Math.max(...results.map(({ id }) => id.length));
  const places = [...new Set(results.map(({ cluster }) => cluster))];
  const sections = places.map((place) => {
    const title = place === undefined ? 'this host' : `cluster ${escapedForTerminal(place)}`;
    const lines = results
      .filter(({ cluster }) => cluster === place)
      .map((result) => resultText({ ...result, label: result.id }, width, style));
    return [title, ...lines].join('\n');
  });
  const { ok, warning, failed, skipped } = summary(results);
  const total = `${ok} ok, ${countText(warning, 'warning')}, ${failed} failed, ${skipped} skipped`;
  return `${[...sections, total].join('\n\n')}\n`;
}

/** A result as it is printed. */
export interface ResultRow {
  /** Undefined for what is neither good nor bad. */
  readonly status?: CheckStatus | undefined;
  readonly label: string;
  readonly message: string;
  readonly next?: string | undefined;
}

/**
 * The message beside mark and label, and below it the next step.
 *
 * @param width of the labels
 * @param columns of a line; default: lines are not broken
 */
export function resultText(
  { label, status, message, next }: ResultRow,
  width: number,
  { colour, unicode }: ResultStyle,
  columns = Infinity,
): string {
  const known = status === undefined ? noMark : marks[status];
  const plain = unicode ? known.unicode : known.ascii;
  const mark = colour ? `\u001b[${known.colour}m${plain}\u001b[0m` : plain;
  const indent = ' '.repeat(2 + plain.length + 1 + width + 2);
  const lines = [message, ...(next === undefined ? [] : [`next: ${next}`])].map((text) =>
    wrapped(escapedForTerminal(text), indent, indent, columns),
  );
  return `  ${mark} ${label.padEnd(width)}  ${lines.join('\n').slice(indent.length)}`;
}

/** The results for monitoring. */
export function checksJson(results: readonly CheckResult[]): string {
  const counts = summary(results);
  const report = { ok: counts.failed === 0, summary: counts, checks: results };
  return documentText('DoctorReport', report);
}

function summary(results: readonly CheckResult[]): Record<CheckStatus, number> {
  const counts = { ok: 0, warning: 0, failed: 0, skipped: 0 };
  for (const { status } of results) counts[status] += 1;
  return counts;
}

/** Writes the results. @returns the exit status: 1 if a check failed */
export function writeChecks(
  results: readonly CheckResult[],
  output: string,
  terminal: Pick<Terminal, 'stdout' | 'env'>,
): number {
  terminal.stdout.write(
    output === 'json' ? checksJson(results) : checksText(results, resultStyle(terminal)),
  );
  return results.some(({ status }) => status === 'failed') ? 1 : 0;
}

/** Whether the locale is UTF-8: LC_ALL before LC_CTYPE before LANG, as in setlocale(3). */
function wantsUnicode(env: Terminal['env']): boolean {
  const locale = [env.LC_ALL, env.LC_CTYPE, env.LANG].find((value) => (value ?? '') !== '');
  return /utf-?8/i.test(locale ?? '');
}
