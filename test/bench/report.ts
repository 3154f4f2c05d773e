import { medians, type Sample } from './measure.ts';
import type { Measured } from './measured-ratio.ts';
import type { Checked, CheckedFigures } from './regressions.ts';

/** Prints a line to stdout. */
export function printLine(line = ''): void {
  process.stdout.write(`${line}\n`);
}

/** The heading of the part that runs. */
let part = '';

export function heading(text: string): void {
  part = text;
  printLine();
  printLine(text);
  printLine('-'.repeat(text.length));
}

/** Prints the medians of wall time, CPU time and memory, one row per command. */
export function table(rows: Readonly<Record<string, readonly Sample[] | undefined>>): void {
  const width = Math.max(...Object.keys(rows).map((name) => name.length));
  printLine(`${' '.repeat(width)}   wall ms    cpu ms   peak MiB`);
  for (const [name, samples] of Object.entries(rows)) {
    const { wall, cpu, rss } = medians(samples);
    printLine(
      `${name.padEnd(width)} ${wall.toFixed(1).padStart(9)} ${cpu.toFixed(0).padStart(9)} ${(rss / 1024).toFixed(0).padStart(10)}`,
    );
  }
}

const checked: Record<string, Checked> = {};

/** What `checkBound` was given so far, without what was measured once. */
export function checkedFigures(): CheckedFigures {
  return checked;
}

/**
 * Prints a value and its bound, for example `ok   requests: 5.00 (at most 8)`, or `MISS` if it is not met.
 *
 * @param measured a number: one that does not vary
 */
export function checkBound(
  what: string,
  measured: Measured | number,
  wanted: { readonly atLeast: number } | { readonly atMost: number },
): void {
  const { value, noise }: Measured =
    typeof measured === 'number' ? { value: measured, noise: 0 } : measured;
  const [word, bound, met] =
    'atLeast' in wanted
      ? ['at least', wanted.atLeast, value >= wanted.atLeast]
      : ['at most', wanted.atMost, value <= wanted.atMost];
  if (noise !== undefined)
    checked[`${part}: ${what}`] = {
      value,
      noise,
      better: word === 'at least' ? 'higher' : 'lower',
    };
  const varies = noise === undefined || noise === 0 ? '' : ` ± ${noise.toFixed(2)}`;
  printLine(`${met ? 'ok  ' : 'MISS'} ${what}: ${value.toFixed(2)}${varies} (${word} ${bound})`);
}
