import {
  fileNames,
  type SubordinateUser,
  type SubordinateFileName,
  type SubordinateFault,
  type SubordinateLayout,
  type SubordinateInput,
} from './subordinate-input.ts';
import type { ErrorCode } from '../../../errors/error-codes.ts';
import { endOf, formatRange, indexRanges, type RangeIndex } from './id-ranges.ts';
import { fittingGroups } from './mappable-groups.ts';
import type { ReservedIds } from './directory-ids.ts';
import { existingFaults, heldIds, overlapText } from './subordinate-faults.ts';
import {
  idCount,
  type IdRange,
  type SubordinateEntry,
  type SubordinateFile,
} from '../../../identity/subordinate-file.ts';

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
  const users = distinct(input.users);
  const people = new Map<string, SubordinateUser>();
  for (const user of users) people.set(String(user.uid), user);
  // If a name consists of digits and is the UID of another user, it counts as that UID.
  for (const user of users) if (!people.has(user.name)) people.set(user.name, user);
  const context = contextOf({ ...input, users }, people);
  const add: Record<SubordinateFileName, SubordinateEntry[]> = { subuid: [], subgid: [] };
  const problems = heldIds(input);
  const warnings = [...existingFaults(input, people)];
  let complete = 0;
  for (const user of users) {
    const wanted = wantedOf(user, context);
    problems.push(...wanted.problems);
    if (wanted.problems.length > 0) continue;
    warnings.push(...wanted.warnings);
    if (wanted.subuid.length + wanted.subgid.length === 0) complete += 1;
    add.subuid.push(...wanted.subuid);
    add.subgid.push(...wanted.subgid);
  }
  return { add, complete, problems, warnings };
}

/** First ID of the user's range, even if there is no room for it. */
function startOf(uid: number, { firstUid, base, size }: SubordinateLayout): number {
  return base + (uid - firstUid) * size;
}

/** The highest UID whose range fits into 32 bits. */
function highestUid({ firstUid, base, size }: SubordinateLayout): number {
  return firstUid + Math.floor((idCount - base) / size) - 1;
}

interface Context extends SubordinateInput {
  readonly entriesOf: Readonly<
    Record<SubordinateFileName, ReadonlyMap<number, readonly SubordinateEntry[]>>
  >;
  readonly entryIndex: Readonly<Record<SubordinateFileName, RangeIndex<SubordinateEntry>>>;
  readonly realIndex: Readonly<Record<SubordinateFileName, RangeIndex<ReservedIds>>>;
}

function contextOf(input: SubordinateInput, people: ReadonlyMap<string, SubordinateUser>): Context {
  const { files, users, real } = input;
  const ids: Record<SubordinateFileName, Map<number, string>> = {
    subuid: new Map(),
    subgid: new Map(),
  };
  for (const { name, uid, gid, groups = [] } of users) {
    ids.subuid.set(uid, `user ${name}`);
    ids.subgid.set(gid, `a group of ${name}`);
    for (const id of groups) if (!ids.subgid.has(id)) ids.subgid.set(id, `a group of ${name}`);
  }
  for (const file of fileNames) for (const { id, name } of real[file]) ids[file].set(id, name);
  return {
    ...input,
    entriesOf: each((file) => byOwner(files[file], people)),
    entryIndex: each((file) => indexRanges(files[file].entries)),
    realIndex: each((file) =>
      indexRanges([
        ...[...ids[file]].map(([id, name]) => ({ name, start: id, count: 1 })),
        ...input.directory.reserved,
      ]),
    ),
  };
}

function byOwner(
  { entries }: SubordinateFile,
  people: ReadonlyMap<string, SubordinateUser>,
): Map<number, SubordinateEntry[]> {
  const found = new Map<number, SubordinateEntry[]>();
  for (const entry of entries) {
    const uid = people.get(entry.owner)?.uid;
    if (uid === undefined) continue;
    const sofar = found.get(uid);
    if (sofar === undefined) found.set(uid, [entry]);
    else sofar.push(entry);
  }
  return found;
}

interface Wanted extends Readonly<Record<SubordinateFileName, readonly SubordinateEntry[]>> {
  readonly problems: readonly SubordinateFault<ErrorCode>[];
  readonly warnings: readonly SubordinateFault[];
}

function wantedOf(user: SubordinateUser, context: Context): Wanted {
  const mine = each((file) => context.entriesOf[file].get(user.uid) ?? []);
  // A single ID is a mapped group, not a range for users inside containers.
  const missing = fileNames.filter((file) => !mine[file].some(({ count }) => count > 1));
  const range = {
    owner: ownerOf(user),
    start: startOf(user.uid, context.layout),
    count: context.layout.size,
  };
  const problems = missing.length === 0 ? [] : problemsOf(user, range, missing, context);
  const ranges = each((file) => (missing.includes(file) ? [range] : []));
  const groups = fittingGroups(user, [...mine.subgid, ...ranges.subgid]);
  return {
    subuid: ranges.subuid,
    subgid: [
      ...ranges.subgid,
      ...groups.fitting.map((gid) => ({ owner: range.owner, start: gid, count: 1 })),
    ],
    problems,
    warnings: groups.faults,
  };
}

function problemsOf(
  { name, uid }: SubordinateUser,
  range: IdRange,
  files: readonly SubordinateFileName[],
  { layout, directory, entryIndex, realIndex }: Context,
): SubordinateFault<ErrorCode>[] {
  const fault = (
    code: ErrorCode,
    message: string,
    rest: Partial<SubordinateFault<ErrorCode>> = {},
  ) => [{ code, message, user: name, uid, ...rest }];
  const [unlisted] = directory.unlisted;
  if (unlisted !== undefined)
    return fault(
      'subid-people-unknown',
      `${unlisted} does not list its accounts, whose UIDs a range of ${name} could contain`,
    );
  if (endOf(range) > idCount)
    return fault(
      'subid-uid-does-not-fit',
      `UID ${uid} (${name}) does not fit: with ${layout.size} IDs per user, the highest UID that gets a range is ${highestUid(layout)}`,
    );
  for (const file of files) {
    const entry = entryIndex[file].overlapping(range);
    if (entry !== undefined)
      return fault(
        'subid-overlaps-entry',
        `the IDs ${formatRange(range)} of ${name} overlap ${formatRange(entry)} of ${entry.owner} in ${file}`,
        { file, line: entry.line },
      );
    const owned = realIndex[file].overlapping(range);
    if (owned !== undefined)
      return fault(
        'subid-overlaps-account',
        `the IDs ${formatRange(range)} of ${name} ${overlapText(owned, 'contain')}`,
        { file },
      );
  }
  return [];
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
