import type { IdRange } from '../../../system/identity/subordinate-file.ts';

/** Finds a range that has an ID in common with this one, in logarithmic time. */
export type OverlapFinder<T extends IdRange> = (range: IdRange) => T | undefined;

export function overlapFinder<T extends IdRange>(ranges: readonly T[]): OverlapFinder<T> {
  const sorted = sortedRanges(ranges);
  // For each range: the one that ends last, among it and those before it.
  const reaching: T[] = [];
  for (const range of sorted) {
    const before = reaching.at(-1);
    reaching.push(before !== undefined && endOf(before) >= endOf(range) ? before : range);
  }
  return (range) => {
    let low = 0;
    let high = sorted.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((sorted[middle]?.start ?? 0) < endOf(range)) low = middle + 1;
      else high = middle;
    }
    const before = reaching[low - 1];
    return before !== undefined && endOf(before) > range.start ? before : undefined;
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
