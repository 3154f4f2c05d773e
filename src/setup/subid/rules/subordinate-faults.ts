import type {
  SubordinateFault,
  SubordinateFileName,
  SubordinateUser,
} from './subordinate-input.ts';
import type { ErrorCode, LogCode } from '../../../system/errors/error-codes.ts';
import type { ReservedIds } from './directory-ids.ts';
import { endOf, formatRange, type OverlapFinder, sortedRanges } from './id-ranges.ts';
import {
  idCount,
  type SubordinateEntry,
  type SubordinateFile,
} from '../../../system/identity/subordinate-file.ts';

/**
 * Faults in a file, except those of `heldIds`. Berth never changes existing lines: only the admin knows what they are for.
 * Each entry that overlaps an earlier one is reported once. All members of a group may map its single GID. Two overlapping
 * ranges of one user break podman, which maps them all; those of two users give one access to files of the other.
 */
export function existingFaults(
  file: SubordinateFileName,
  { malformed, entries }: SubordinateFile,
  people: ReadonlyMap<string, SubordinateUser>,
): SubordinateFault[] {
  const faults: SubordinateFault[] = malformed.map(({ line, text }) => ({
    code: 'subid-entry-malformed',
    message: `line ${line} of ${file} is not OWNER:START:COUNT and is ignored: ${JSON.stringify(text.slice(0, 60))}`,
    file,
    line,
  }));
  const beyond = entries.filter((entry) => endOf(entry) > idCount);
  for (const entry of beyond)
    faults.push(
      entryFault('subid-entry-beyond-ids', file, entry, `ends after the last ID ${idCount - 1}`),
    );
  const owner = (entry: SubordinateEntry) => people.get(entry.owner)?.uid ?? entry.owner;
  let reaching: SubordinateEntry | undefined;
  for (const entry of sortedRanges(entries)) {
    if (reaching !== undefined && endOf(reaching) > entry.start) {
      const sharedGroup = reaching.count === 1 && entry.count === 1 && file === 'subgid';
      if (!sharedGroup || owner(entry) === owner(reaching))
        faults.push(
          entryFault('subid-entries-overlap', file, entry, `overlaps ${entryText(reaching)}`),
        );
    }
    if (reaching === undefined || endOf(entry) > endOf(reaching)) reaching = entry;
  }
  return faults;
}

/** Ranges that contain an ID of a user or group, or one that somebody may have: their owner can get the rights of these. */
export function heldIds(
  file: SubordinateFileName,
  { entries }: SubordinateFile,
  findHolder: OverlapFinder<ReservedIds>,
): SubordinateFault<ErrorCode>[] {
  return entries.flatMap((entry) => {
    // A single ID of subgid is a group that its user maps.
    const held = entry.count > 1 || file === 'subuid' ? findHolder(entry) : undefined;
    return held === undefined
      ? []
      : [entryFault('subid-entry-holds-account', file, entry, `contains ${holderText(held)}`)];
  });
}

/** `1000, which is user ada` */
export function holderText(held: ReservedIds): string {
  return `${held.count === 1 ? '' : 'IDs of '}${formatRange(held)}, which is ${held.name}`;
}

function entryText(entry: SubordinateEntry): string {
  return `${formatRange(entry)} of ${entry.owner} (line ${entry.line ?? 0})`;
}

function entryFault<Code extends LogCode>(
  code: Code,
  file: SubordinateFileName,
  entry: SubordinateEntry,
  fault: string,
): SubordinateFault<Code> {
  return { code, message: `${file}: ${entryText(entry)} ${fault}`, file, line: entry.line };
}
