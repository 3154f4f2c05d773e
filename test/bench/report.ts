import { medians, type Sample } from './measure.ts';

/** Prints a line to stdout. */
export function printLine(line = ''): void {
  process.stdout.write(`${line}\n`);
}

export function heading(text: string): void {
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

/** Prints a value and its bound, for example `ok   requests: 5.00 (at most 8)`, or `MISS` if it is not met. */
export function checkBound(
  what: string,
  value: number,
  wanted: { readonly atLeast: number } | { readonly atMost: number },
): void {
  const [word, bound, met] =
    'atLeast' in wanted
      ? ['at least', wanted.atLeast, value >= wanted.atLeast]
      : ['at most', wanted.atMost, value <= wanted.atMost];
  printLine(`${met ? 'ok  ' : 'MISS'} ${what}: ${value.toFixed(2)} (${word} ${bound})`);
}
