import { escapedForTerminal } from '../../log.ts';
import type { VerifiedCase } from './verify-host.ts';
import { type Terminal, documentText } from '../../cli/kit/terminal.ts';
import type { Documents, VerificationReport } from './documents.ts';
import { textTable } from '../../cli/kit/text.ts';

/** Writes the results: a row for each case, and below it why it did not pass. */
export function writeVerification(
  report: VerificationReport,
  output: string,
  { stdout }: Pick<Terminal, 'stdout'>,
): void {
  stdout.write(output === 'json' ? verificationJson(report) : verificationText(report));
}

function verificationJson({ cases, ...server }: VerificationReport): string {
  return documentText<Documents>('Verification', { ...server, summary: summary(cases), cases });
}

function verificationText({ cases }: VerificationReport): string {
  const rows = cases.map(({ result, subject, name, milliseconds }) => [
    result === 'fail' ? 'FAIL' : result,
    (milliseconds / 1000).toFixed(1),
    `${subject}: ${name}`,
  ]);
  const [headings = '', ...lines] = textTable(['RESULT', 'SECONDS', 'CASE'], rows, [1]).split('\n');
  const table = cases.flatMap(({ detail }, index) => [
    lines[index] ?? '',
    ...(detail === '' ? [] : [`        ${escapedForTerminal(detail)}`]),
  ]);
  const { pass, fail, known, skip } = summary(cases);
  const total = `${pass} passed, ${fail} failed, ${known} known to fail, ${skip} skipped`;
  return `${[headings, ...table, '', total].join('\n')}\n`;
}

function summary(cases: readonly VerifiedCase[]): Record<VerifiedCase['result'], number> {
  const counts = { pass: 0, fail: 0, known: 0, skip: 0 };
  for (const { result } of cases) counts[result] += 1;
  return counts;
}
