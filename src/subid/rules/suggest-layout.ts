import { firstGap } from './id-ranges.ts';
import { idCount, type IdRange } from '../../identity/subordinate-file.ts';
import type { SubordinateInput, SubordinateLayout } from './subordinate-ids.ts';

/** Ranges start at multiples of 65536, so that the low 16 bits are the ID inside. */
const alignment = 65_536;
/** systemd reserves lower IDs for accounts and for itself (UIDS-GIDS in its documentation). */
const lowestBase = 524_288;
/** An image has at least so many users. */
const smallestSize = 1024;

/**
 * A layout in which every UID from the first to the last of these users has a range that contains no account, group or
 * entry: with the size that was asked for if possible, else the next lower power of two. undefined if the UIDs are
 * too far apart.
 */
export function suggestLayout({
  users,
  files,
  real,
  layout,
}: SubordinateInput): SubordinateLayout | undefined {
  const uids = users.map(({ uid }) => uid);
  const lowest = uids[0];
  const highest = uids.at(-1);
  if (lowest === undefined || highest === undefined) return undefined;
  const taken: IdRange[] = [
    ...files.subuid.entries,
    ...files.subgid.entries,
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
      for (const from of [layout.base, lowestBase]) {
        const base = firstGap(taken, { from, length, alignment, end: idCount });
        if (base !== undefined) return { firstUid, base, size };
      }
    }
  }
  return undefined;
}
