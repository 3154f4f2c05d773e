/** One line of /proc/PID/gid_map: `count` IDs from `inside` on are the IDs from `outside` on. */
export interface IdMapEntry {
  readonly inside: number;
  readonly outside: number;
  readonly count: number;
}

/** The kernel's limits for one user namespace: lines, and bytes in the one write. */
const mostExtents = 340;
const mostBytes = 4096;

/**
 * The container's group map: the user's GID and supplementary GIDs keep their numbers, and all other numbers are
 * subordinate ones. This is keep-id for more than one group. Without it a supplementary group has its rights inside
 * (keep-groups) but is shown as nogroup.
 *
 * Podman maps in two steps: the user's namespace has the GID as 0, followed by the subordinate GIDs; `outside` of
 * the container's namespace is `inside` of that one.
 *
 * Real groups that cannot keep their numbers come last, at numbers that no file of an image has. keep-id would
 * put them first, and a setgid program of the image could get the rights of such a group. These are groups that
 * the user has left, and numbers that would leave a hole in the map: podman copies the whole image for a map with
 * holes (containers/storage, IsContiguous).
 *
 * @param first gid_map of the user's namespace, as podman made it from /etc/subgid.
 * @returns undefined if /etc/subgid assigns no real group to the user: then keep-id does the same. Also if the map exceeds
 *   the kernel's limits: then supplementary groups are shown as nogroup.
 */
export function groupMap(
  first: readonly IdMapEntry[],
  user: { readonly gid: number; readonly groups: readonly number[] },
): IdMapEntry[] | undefined {
  const own = first.find(({ outside, count }) => outside === user.gid && count === 1);
  const real = first.filter((extent) => extent !== own && extent.count === 1);
  if (own === undefined || real.length === 0) return undefined;
  const mapped = first.reduce((sum, { count }) => sum + count, 0);
  const kept = real.filter(({ outside }) => user.groups.includes(outside) && outside < mapped);
  const fixed = [own, ...kept].map(({ inside, outside }) => ({
    inside: outside,
    outside: inside,
    count: 1,
  }));
  const free = [
    ...first.filter((extent) => extent !== own && !real.includes(extent)),
    ...real.filter((extent) => !kept.includes(extent)),
  ].map(({ inside, count }) => ({ start: inside, count }));
  const extents = [...fixed, ...spread(free, new Set(fixed.map(({ inside }) => inside)))];
  return extents.length > mostExtents || bytesOf(extents) >= mostBytes
    ? undefined
    : extents.toSorted((one, other) => one.inside - other.inside);
}

function bytesOf(extents: readonly IdMapEntry[]): number {
  return extents.reduce(
    (sum, { inside, outside, count }) => sum + `${inside} ${outside} ${count}\n`.length,
    0,
  );
}

interface Span {
  readonly start: number;
  readonly count: number;
}

/** Maps free IDs to the numbers inside that are not taken, from 0 on. */
function spread(free: readonly Span[], taken: ReadonlySet<number>): IdMapEntry[] {
  const extents: IdMapEntry[] = [];
  const stops = [...taken].toSorted((one, other) => one - other);
  let inside = 0;
  for (let { start, count } of free) {
    while (count > 0) {
      while (taken.has(inside)) inside += 1;
      const stop = stops.find((one) => one > inside) ?? Number.POSITIVE_INFINITY;
      const length = Math.min(count, stop - inside);
      extents.push({ inside, outside: start, count: length });
      inside += length;
      start += length;
      count -= length;
    }
  }
  return extents;
}

/** The user map: the user's own UID, and subordinate ones around it, as with keep-id. */
export function userMap(first: readonly IdMapEntry[], uid: number): IdMapEntry[] {
  const own = { inside: uid, outside: 0, count: 1 };
  const free = first
    .filter(({ inside }) => inside !== 0)
    .map(({ inside, count }) => ({ start: inside, count }));
  return [own, ...spread(free, new Set([uid]))].toSorted((one, other) => one.inside - other.inside);
}

/** Parses /proc/PID/gid_map or uid_map. */
export function parseIdMap(text: string): IdMapEntry[] {
  return text.split('\n').flatMap((line) => {
    const [inside, outside, count] = line.trim().split(/\s+/).map(Number);
    return inside === undefined || outside === undefined || count === undefined
      ? []
      : [{ inside, outside, count }];
  });
}
