import { endOf, sortedRanges } from './id-ranges.ts';
import type { IdRange } from '../../../system/identity/subordinate-file.ts';
import type { SubordinateFault, SubordinateUser } from './subordinate-input.ts';

/** The kernel's UID_GID_MAP_MAX_EXTENTS: lines in one gid_map, user_namespaces(7). */
const mostLines = 340;
/** A map is one write(2) of less than a page; this limit is reached before that of lines. */
const mostBytes = 4095;

/**
 * The supplementary groups that can still be mapped, as many as fit into one gid_map together with the user's ranges in
 * /etc/subgid. With more, podman could start no container of the user.
 *
 * @param ranges The user's ranges there, and the new one.
 */
export function fittingGroups(
  { name, uid, gid, groups }: SubordinateUser,
  ranges: readonly IdRange[],
): { readonly fitting: readonly number[]; readonly faults: readonly SubordinateFault[] } {
  if (groups === undefined) return { fitting: [], faults: [] };
  const member = new Set(groups);
  const faults: SubordinateFault[] = ranges
    .filter(({ start, count }) => count === 1 && start !== gid && !member.has(start))
    .map(({ start }) => ({
      code: 'subid-former-group',
      message: `${name} can still map GID ${start} (/etc/subgid) but is no longer in that group`,
      user: name,
      uid,
      file: 'subgid',
    }));
  // The primary group is always mapped; root's is never mapped.
  const wanted = [...member]
    .filter(
      (id) =>
        id !== gid && id !== 0 && !ranges.some((range) => id >= range.start && id < endOf(range)),
    )
    .sort((a, b) => a - b);
  const count = howMany(gid, ranges, wanted);
  if (count < wanted.length)
    faults.push({
      code: 'subid-groups-do-not-fit',
      message: `only ${count} of the ${wanted.length} groups of ${name} fit into a gid_map (${mostLines} lines, ${mostBytes} bytes); left out: ${wanted.slice(count, count + 3).join(', ')}${wanted.length > count + 3 ? ', …' : ''}`,
      user: name,
      uid,
      file: 'subgid',
    });
  return { fitting: wanted.slice(0, count), faults };
}

/** How many of these groups, from the first on, the kernel accepts. */
function howMany(gid: number, ranges: readonly IdRange[], groups: readonly number[]): number {
  let count = Math.max(0, Math.min(groups.length, mostLines - 1 - ranges.length));
  const mapped = () => groups.slice(0, count).map((id) => ({ start: id, count: 1 }));
  while (count > 0 && mapBytes(gid, [...ranges, ...mapped()]) > mostBytes) count -= 1;
  return count;
}

/** The length of podman's map: the user's own group as 0, then all ranges in ascending order. */
function mapBytes(gid: number, ranges: readonly IdRange[]): number {
  let bytes = `0 ${gid} 1\n`.length;
  let inside = 1;
  for (const { start, count } of sortedRanges(ranges)) {
    bytes += `${inside} ${start} ${count}\n`.length;
    inside += count;
  }
  return bytes;
}
