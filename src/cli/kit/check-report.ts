import type { CheckResult, CheckStatus } from '../../check-result.ts';
import { countText } from '../../count-text.ts';
import { escapedForTerminal } from '../../log.ts';
import { type Terminal, documentText, wantsColour, wantsUnicode } from './terminal.ts';

interface Style {
  readonly colour: boolean;
  readonly unicode: boolean;
}

const marks: Readonly<Record<CheckStatus, { unicode: string; ascii: string; colour: string }>> = {
  ok: { unicode: '✓', ascii: 'ok  ', colour: '32' },
  warning: { unicode: '!', ascii: 'WARN', colour: '33' },
  failed: { unicode: '✗', ascii: 'FAIL', colour: '31' },
  skipped: { unicode: '-', ascii: 'skip', colour: '2' },
};

/** The results as text: this host first, then each cluster; each next step below its result. */
export function checksText(results: readonly CheckResult[], style: Style): string {
  const width = Math.max(...results.map(({ id }) => id.length));
  const places = [...new Set(results.map(({ cluster }) => cluster))];
  const sections = places.map((place) => {
    const title = place === undefined ? 'this host' : `cluster ${escapedForTerminal(place)}`;
    const lines = results
      .filter(({ cluster }) => cluster === place)
      .flatMap((result) => resultLines(result, width, style));
    return [title, ...lines].join('\n');
  });
  const { ok, warning, failed, skipped } = summary(results);
  const total = `${ok} ok, ${countText(warning, 'warning')}, ${failed} failed, ${skipped} skipped`;
  return `${[...sections, total].join('\n\n')}\n`;
}

function resultLines(
  { id, status, message, next }: CheckResult,
  width: number,
  { colour, unicode }: Style,
): string[] {
  const known = marks[status];
  const plain = unicode ? known.unicode : known.ascii;
  const mark = colour ? `\u001b[${known.colour}m${plain}\u001b[0m` : plain;
  const indent = ' '.repeat(2 + plain.length + 1 + width + 2);
  return [
    `  ${mark} ${id.padEnd(width)}  ${escapedForTerminal(message)}`,
    ...(next === undefined ? [] : [`${indent}next: ${escapedForTerminal(next)}`]),
  ];
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
  { stdout, env }: Terminal,
): number {
  const style = { colour: wantsColour(stdout, env), unicode: wantsUnicode(env) };
  stdout.write(output === 'json' ? checksJson(results) : checksText(results, style));
  return results.some(({ status }) => status === 'failed') ? 1 : 0;
}
