import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeAtomically } from '../../src/system/atomic-file.ts';
import type { BenchArguments } from './bench-arguments.ts';
import { printLine } from './report.ts';
import { type CheckedFigures, regressions } from './regressions.ts';

const file = join(import.meta.dirname, '../../docs/performance.json');

/**
 * Compares figures with docs/performance.json, or saves them there.
 *
 * @returns the exit status: 1 if a figure has become worse, or none was compared
 */
export async function checkOrSave(
  figures: CheckedFigures,
  { check, save }: Pick<BenchArguments, 'check' | 'save'>,
): Promise<number> {
  const saved = JSON.parse(await readFile(file, 'utf8')) as CheckedFigures;
  if (save) {
    const all = Object.entries({ ...saved, ...figures }).sort(([a], [b]) => (a < b ? -1 : 1));
    await writeAtomically(file, `${JSON.stringify(Object.fromEntries(all), undefined, 2)}\n`, {
      mode: 0o644,
    });
  }
  if (!check) return 0;
  const worse = regressions(figures, saved);
  const unknown = Object.keys(figures).filter((name) => !(name in saved));
  const compared = Object.keys(figures).length - unknown.length;
  printLine();
  printLine(`${worse.length} of ${compared} figures are worse than in docs/performance.json`);
  for (const line of worse) printLine(`  ${line}`);
  for (const name of unknown) printLine(`  not saved yet, and not compared: ${name}`);
  if (worse.length > 0)
    printLine('Measure again. If it stays, find the change, or accept it with --save.');
  return worse.length > 0 || compared === 0 ? 1 : 0;
}
