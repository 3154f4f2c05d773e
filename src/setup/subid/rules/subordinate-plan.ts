import {
  fileNames,
  type SubordinateUser,
  type SubordinateFileName,
  type SubordinateFault,
  type SubordinateInput,
} from './subordinate-input.ts';
import type { ErrorCode } from '../../../system/errors/error-codes.ts';
import { endOf, formatRange, type OverlapFinder, overlapFinder } from './id-ranges.ts';
import { fittingGroups } from './mappable-groups.ts';
import type { ReservedIds } from './directory-ids.ts';
import { existingFaults, heldIds, holderText } from './subordinate-faults.ts';
import {
  idCount,
  type IdRange,
  type SubordinateEntry,
} from '../../../system/identity/subordinate-file.ts';

export interface SubordinatePlan {
  /** Lines to add, in ascending order of UIDs. */
  readonly add: Readonly<Record<SubordinateFileName, readonly SubordinateEntry[]>>;
  /** How many users need no new line. */
  readonly complete: number;
  /** Users without a range, each with the reason. Without a user: ranges in the files that contain an ID of somebody. */
  readonly problems: readonly SubordinateFault<ErrorCode>[];
  readonly warnings: readonly SubordinateFault[];
}

/**
 * The lines that are missing in /etc/subuid and /etc/subgid. Existing entries under the user's name or UID are kept. If
 * a range would overlap an entry, an account or a group, it is a problem and the range is not moved: another node
 * would not move it to the same place.
 */
export function planSubordinateIds(input: SubordinateInput): SubordinatePlan {
  const { files, layout } = input;
  const users = distinct(input.users);
  const people = new Map<string, SubordinateUser>();
  for (const user of users) people.set(String(user.uid), user);
  // If a name consists of digits and is the UID of another user, it counts as that UID.
  for (const user of users) if (!people.has(user.name)) people.set(user.name, user);
  const taken = each((file): TakenIds => ({
    entry: overlapFinder(files[file].entries),
    holder: holderFinder(file, { ...input, users }),
  }));
  const entriesOf = each((file) =>
    Map.groupBy(files[file].entries, ({ owner }) => people.get(owner)?.uid),
  );
  const add: Record<SubordinateFileName, SubordinateEntry[]> = { subuid: [], subgid: [] };
  const problems = fileNames.flatMap((file) => heldIds(file, files[file], taken[file].holder));
  const warnings = fileNames.flatMap((file) => existingFaults(file, files[file], people));
  let complete = 0;
  for (const user of users) {
    const mine = each((file) => entriesOf[file].get(user.uid) ?? []);
    // A single ID is a mapped group, not a range for users inside containers.
    const missing = fileNames.filter((file) => !mine[file].some(({ count }) => count > 1));
    const owner = ownerOf(user);
    const start = layout.base + (user.uid - layout.firstUid) * layout.size;
    const range = { owner, start, count: layout.size };
    const problem =
      missing.length === 0 ? undefined : problemOf(user, range, { ...input, missing, taken });
    if (problem !== undefined) {
      problems.push(problem);
      continue;
    }
    for (const file of missing) add[file].push(range);
    const { fitting, faults } = fittingGroups(
      user,
      missing.includes('subgid') ? [...mine.subgid, range] : mine.subgid,
    );
    warnings.push(...faults);
    for (const gid of fitting) add.subgid.push({ owner, start: gid, count: 1 });
    if (missing.length + fitting.length === 0) complete += 1;
  }
  return { add, complete, problems, warnings };
}

/** What no range may overlap in a file. */
interface TakenIds {
  readonly entry: OverlapFinder<SubordinateEntry>;
  readonly holder: OverlapFinder<ReservedIds>;
}

/** Finds an account or a group with one of the IDs, or else those who may have them. */
function holderFinder(
  file: SubordinateFileName,
  { users, real, directory }: SubordinateInput,
): TakenIds['holder'] {
  const names = new Map<number, string>();
  for (const { name, uid, gid, groups = [] } of users) {
    if (file === 'subuid') names.set(uid, `user ${name}`);
    else for (const id of [gid, ...groups]) names.set(id, `a group of ${name}`);
  }
  for (const { id, name } of real[file]) names.set(id, name);
  const known = overlapFinder([...names].map(([start, name]) => ({ name, start, count: 1 })));
  const reserved = overlapFinder(directory.reserved);
  return (range) => known(range) ?? reserved(range);
}

interface Wanted extends SubordinateInput {
  /** The files in which the user has no range. */
  readonly missing: readonly SubordinateFileName[];
  readonly taken: Readonly<Record<SubordinateFileName, TakenIds>>;
}

function problemOf(
  { name, uid }: SubordinateUser,
  range: IdRange,
  { layout: { firstUid, base, size }, directory, missing, taken }: Wanted,
): SubordinateFault<ErrorCode> | undefined {
  const who = { user: name, uid };
  const [unlisted] = directory.unlisted;
  if (unlisted !== undefined)
    return {
      code: 'subid-people-unknown',
      message: `no subordinate IDs for ${name}: ${unlisted} does not list its accounts, and the range might contain the UID of one`,
      ...who,
    };
  if (endOf(range) > idCount) {
    const highest = firstUid + Math.floor((idCount - base) / size) - 1;
    return {
      code: 'subid-uid-does-not-fit',
      message: `UID ${uid} (${name}) does not fit: with ${size} IDs per user, the highest UID that gets a range is ${highest}`,
      ...who,
    };
  }
  const ids = `the IDs ${formatRange(range)} of ${name}`;
  for (const file of missing) {
    const entry = taken[file].entry(range);
    if (entry !== undefined)
      return {
        code: 'subid-overlaps-entry',
        message: `${ids} overlap ${formatRange(entry)} of ${entry.owner} in ${file}`,
        ...who,
        file,
        line: entry.line,
      };
    const held = taken[file].holder(range);
    if (held !== undefined)
      return {
        code: 'subid-overlaps-account',
        message: `${ids} contain ${holderText(held)}`,
        ...who,
        file,
      };
  }
  return undefined;
}

/**
 * The owner in the line: the name, as other tools write it, or the UID if the name consists of digits, because
 * newuidmap would also give the range to the account with that UID.
 */
function ownerOf({ name, uid }: SubordinateUser): string {
  return /^\d+$/.test(name) ? String(uid) : name;
}

/** Ascending by UID. Of several names for one UID only the first is kept: the range belongs to the UID. */
function distinct(users: readonly SubordinateUser[]): SubordinateUser[] {
  const byUid = new Map<number, SubordinateUser>();
  for (const user of users) if (!byUid.has(user.uid)) byUid.set(user.uid, user);
  return [...byUid.values()].sort((a, b) => a.uid - b.uid);
}

function each<T>(of: (file: SubordinateFileName) => T): Record<SubordinateFileName, T> {
  return { subuid: of('subuid'), subgid: of('subgid') };
}
