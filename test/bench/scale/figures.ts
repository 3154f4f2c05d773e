import { printLine } from '../report.ts';

/** What must hold of a value. */
export type Wanted = { readonly atLeast: number } | { readonly atMost: number };

/** One measured value. */
export interface Figure {
  /** The part of the benchmark, by its name on the command line. */
  readonly part: string;
  /** For example `a later login`. */
  readonly what: string;
  /** Of what the cost may grow with, for example 20,000 namespaces. */
  readonly size?: { readonly count: number; readonly of: string };
  readonly value: number;
  /** For example `ms`, `MiB`, `requests`, or empty for a ratio. */
  readonly unit: string;
  readonly wanted?: Wanted;
}

export type RecordFigure = (figure: Omit<Figure, 'part'>) => void;

/** Whether the value is as wanted; true if nothing is wanted. */
export function isMet({ value, wanted }: Pick<Figure, 'value' | 'wanted'>): boolean {
  if (wanted === undefined) return true;
  return 'atLeast' in wanted ? value >= wanted.atLeast : value <= wanted.atMost;
}

export function wantedText({ wanted, unit }: Pick<Figure, 'wanted' | 'unit'>): string {
  if (wanted === undefined) return '';
  const [word, bound] =
    'atLeast' in wanted ? ['at least', wanted.atLeast] : ['at most', wanted.atMost];
  return `${word} ${bound.toLocaleString('en')}${unit === '' ? '' : ` ${unit}`}`;
}

/** With three digits that say something; `ms` and `MiB` stay what they are. */
export function valueText({ value, unit }: Pick<Figure, 'value' | 'unit'>): string {
  const digits =
    Math.abs(value) >= 100 || Number.isInteger(value) ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  const number = value.toLocaleString('en', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  return unit === '' ? number : `${number} ${unit}`;
}

/** Prints the figures as a table, with `MISS` where a value is not as wanted. */
export function printFigures(figures: readonly Figure[]): void {
  const rows = figures.map((figure) => [
    isMet(figure) ? '' : 'MISS',
    sizeText(figure) === '' ? figure.what : `${figure.what}, ${sizeText(figure)}`,
    valueText(figure),
    wantedText(figure),
  ]);
  const width = (column: number): number =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0));
  for (const [miss = '', what = '', value = '', wanted = ''] of rows)
    printLine(
      `${miss.padEnd(4)} ${what.padEnd(width(1))}  ${value.padStart(width(2))}  ${wanted}`.trimEnd(),
    );
}

export function sizeText({ size }: Figure): string {
  if (size === undefined) return '';
  const of = size.count === 1 ? size.of.replace(/s$/, '') : size.of;
  return `${size.count.toLocaleString('en')} ${of}`;
}
