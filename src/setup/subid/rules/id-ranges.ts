import { idCount, type IdRange } from '../../../identity/subordinate-file.ts';
import type { SubordinateInput, SubordinateLayout } from './subordinate-input.ts';

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

/** The lowest multiple of `alignment`, not below `from`, at which `length` IDs are free. */
function firstGap(
  taken: readonly IdRange[],
  wanted: {
    readonly from: number;
    readonly length: number;
    readonly alignment: number;
    readonly end: number;
  },
): number | undefined {
  const { from, length, alignment, end } = wanted;
  const align = (id: number): number => Math.ceil(id / alignment) * alignment;
  let candidate = align(from);
  for (const range of sortedRanges(taken)) {
    if (range.start >= candidate + length) break;
    candidate = Math.max(candidate, align(endOf(range)));
  }
  return candidate + length <= end ? candidate : undefined;
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

/** Ranges start at multiples of 65536, so that the low 16 bits are the ID inside. */
const alignment = 65_536;
/** systemd reserves lower IDs for accounts and for itself (UIDS-GIDS in its documentation). */
const lowestBase = 524_288;
/** sssd maps the accounts of a directory to IDs below this (sssd-ldap(5), ldap_idmap_range_max), a domain to a slice. */
const mappedEnd = 2_000_200_000;
const mappedSlice = 200_000;
/** An image has at least so many users. */
const smallestSize = 1024;

/**
 * Where to look for room. A directory of which nothing is known lists nobody: beside users with IDs of one, there are others
 * who must not be in a range.
 */
function firstBases(
  { layout: { base }, directory: { reserved } }: SubordinateInput,
  highestUid: number,
): readonly number[] {
  return highestUid < lowestBase || reserved.length > 0
    ? [base, lowestBase]
    : [Math.max(base, mappedEnd, highestUid + mappedSlice)];
}

/**
 * A layout in which every UID from the first to the last of these users has a range that contains no account, group or
 * entry: with the size that was asked for if possible, else the next lower power of two. undefined if the UIDs are
 * too far apart.
 */
export function suggestLayout(input: SubordinateInput): SubordinateLayout | undefined {
  const { users, files, real, directory, layout } = input;
  const uids = users.map(({ uid }) => uid);
  const lowest = uids[0];
  const highest = uids.at(-1);
  if (lowest === undefined || highest === undefined) return undefined;
  const taken: IdRange[] = [
    ...files.subuid.entries,
    ...files.subgid.entries,
    ...directory.reserved,
    ...[...real.subuid, ...real.subgid].map(({ id }) => ({ start: id, count: 1 })),
    ...users.flatMap(({ uid, gid }) => [
      { start: uid, count: 1 },
      { start: gid, count: 1 },
    ]),
  ];
  const firsts = lowest >= layout.firstUid ? [layout.firstUid, lowest] : [lowest];
  for (let { size } = layout; size >= smallestSize; size = 2 ** Math.ceil(Math.log2(size) - 1)) {
    for (const firstUid of firsts) {
      const length = (highest - firstUid + 1) * size;
      for (const from of firstBases(input, highest)) {
        const base = firstGap(taken, { from, length, alignment, end: idCount });
        if (base !== undefined) return { firstUid, base, size };
      }
    }
  }
  return undefined;
}
