import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { writeAtomically } from '../../src/system/atomic-file.ts';
import { printLine } from './report.ts';
import { type CheckedFigures, regressions } from './regressions.ts';

const file = join(import.meta.dirname, '../../docs/performance.json');

export interface BenchArguments {
  readonly parts: readonly string[];
  /** `--check`: fail if a figure is worse than the saved one. */
  readonly check: boolean;
  /** `--save`: replace the saved figures of these parts. */
  readonly save: boolean;
}

/** `[PART …] [--check | --save]`. @throws Error for an unknown option */
export function benchArguments(args: string[]): BenchArguments {
  const options = { check: { type: 'boolean' }, save: { type: 'boolean' } } as const;
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options });
  return { parts: positionals, check: values.check === true, save: values.save === true };
}

/**
 * Compares figures with docs/performance.json, or saves them there.
 *
 * @returns the exit status: 1 if a figure has become worse
 */
export async function checkOrSave(
  figures: CheckedFigures,
  { check, save }: BenchArguments,
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
  const compared = Object.keys(figures).filter((name) => name in saved).length;
  printLine();
  printLine(`${worse.length} of ${compared} figures are worse than in docs/performance.json`);
  for (const line of worse) printLine(`  ${line}`);
  return worse.length > 0 ? 1 : 0;
}
