import type { IdRange } from '../../../identity/subordinate-file.ts';

/** Ranges in which overlaps are found in logarithmic time. */
export interface RangeIndex<T extends IdRange> {
  /** A range that has an ID in common with this one. */
  overlapping(range: IdRange): T | undefined;
}

export function indexRanges<T extends IdRange>(ranges: readonly T[]): RangeIndex<T> {
  const sorted = sortedRanges(ranges);
  const starts = sorted.map(({ start }) => start);
  // For each range: the one that ends last, among it and those before it.
  const reaching: T[] = [];
  for (const range of sorted) {
    const before = reaching.at(-1);
    reaching.push(before !== undefined && endOf(before) >= endOf(range) ? before : range);
  }
  return {
    overlapping: (range) => {
      const before = reaching[lowerBound(starts, endOf(range)) - 1];
      return before !== undefined && endOf(before) > range.start ? before : undefined;
    },
  };
}

export function endOf({ start, count }: IdRange): number {
  return start + count;
}

/** `524288-589823`, or the only ID. */
export function formatRange(range: IdRange): string {
  return range.count === 1 ? String(range.start) : `${range.start}-${endOf(range) - 1}`;
}

export function sortedRanges<T extends IdRange>(ranges: readonly T[]): T[] {
  return [...ranges].sort((a, b) => a.start - b.start || a.count - b.count);
}

/** Index of the first number that is not below `bound`, in an ascending list. */
function lowerBound(ascending: readonly number[], bound: number): number {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ascending[middle] ?? 0) < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}
