/** One line of /proc/PID/gid_map: `count` IDs from `inside` on are those from `outside` on. */
export interface IdExtent {
  readonly inside: number;
  readonly outside: number;
  readonly count: number;
}

/** The kernel takes so many lines for one user namespace, in one write of so many bytes. */
const mostExtents = 340;
const mostBytes = 4096;

/**
 * The container's groups so that the user's GID and supplementary GIDs are the same numbers inside,
 * and all other numbers are subordinate ones: what keep-id does, for more than one group. Without it
 * a supplementary group has its rights inside (keep-groups), but shows as nogroup.
 *
 * Podman maps in two steps: first the user's namespace, which holds the GID as 0 and then the
 * subordinate GIDs; then the container's, whose `outside` is that first step's `inside`.
 *
 * Real groups that cannot keep their number come last, where no file of an image has its group:
 * keep-id would put them first, and a setgid program of the image would get such a group's rights.
 * These are groups that the user has left, and numbers that would leave a hole in the map: podman
 * copies the whole image for a map with holes (containers/storage, IsContiguous).
 *
 * @param first gid_map of the user's namespace, as podman made it of /etc/subgid.
 * @returns Nothing where /etc/subgid gives the user no real group: keep-id does then.
 */
export function groupMap(
  first: readonly IdExtent[],
  user: { readonly gid: number; readonly groups: readonly number[] },
): IdExtent[] | undefined {
  const own = first.find(({ outside, count }) => outside === user.gid && count === 1);
  const real = first.filter((extent) => extent !== own && extent.count === 1);
  if (own === undefined || real.length === 0) return undefined;
  const mapped = first.reduce((sum, { count }) => sum + count, 0);
  const kept = real.filter(({ outside }) => user.groups.includes(outside) && outside < mapped);
  const fixed = [own, ...kept].map(({ inside, outside }) => ({
    ...{ inside: outside, outside: inside, count: 1 },
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

function bytesOf(extents: readonly IdExtent[]): number {
  return extents.reduce(
    (sum, { inside, outside, count }) => sum + `${inside} ${outside} ${count}\n`.length,
    0,
  );
}

interface Span {
  readonly start: number;
  readonly count: number;
}

/** Free IDs for the numbers inside that are not taken, from 0 on. */
function spread(free: readonly Span[], taken: ReadonlySet<number>): IdExtent[] {
  const extents: IdExtent[] = [];
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

/** The same for user IDs: the user's own, and subordinate ones around it, as keep-id has it. */
export function userMap(first: readonly IdExtent[], uid: number): IdExtent[] {
  const own = { inside: uid, outside: 0, count: 1 };
  const free = first
    .filter(({ inside }) => inside !== 0)
    .map(({ inside, count }) => ({ start: inside, count }));
  return [own, ...spread(free, new Set([uid]))].toSorted((one, other) => one.inside - other.inside);
}

/** Reads /proc/PID/gid_map or uid_map. */
export function parseIdMap(text: string): IdExtent[] {
  return text.split('\n').flatMap((line) => {
    const [inside, outside, count] = line.trim().split(/\s+/).map(Number);
    return inside === undefined || outside === undefined || count === undefined
      ? []
      : [{ inside, outside, count }];
  });
}
