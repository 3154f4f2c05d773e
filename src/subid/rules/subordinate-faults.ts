import { endOf, firstNotBelow, shownRange, sortedRanges } from './id-ranges.ts';
import {
  idSpace,
  type SubordinateEntry,
  type SubordinateFile,
} from '../../identity/subordinate-file.ts';
import type {
  FileName,
  SubordinateFault,
  SubordinateInput,
  SubordinateUser,
} from './subordinate-ids.ts';

/** A UID or GID of the machine, and what it is in words. */
export interface OwnedId {
  readonly id: number;
  readonly name: string;
}

/** What is wrong with the files as they are. Nothing of it is changed: only the admin knows whose it is. */
export function existingFaults(
  { files, real }: Pick<SubordinateInput, 'files' | 'real'>,
  people: ReadonlyMap<string, SubordinateUser>,
): SubordinateFault[] {
  return (['subuid', 'subgid'] as const).flatMap((file) => [
    ...unreadable(file, files[file]),
    ...overlaps(file, files[file], people),
    ...heldIds(file, files[file], real[file]),
  ]);
}

function unreadable(file: FileName, { malformed, entries }: SubordinateFile): SubordinateFault[] {
  return [
    ...malformed.map(({ line, text }): SubordinateFault => ({
      code: 'entry-malformed',
      message: `line ${line} of ${file} is no OWNER:START:COUNT and is passed over: ${JSON.stringify(text.slice(0, 60))}`,
      file,
      line,
    })),
    ...entries
      .filter((entry) => endOf(entry) > idSpace)
      .map((entry) =>
        of(
          'entry-beyond-ids',
          file,
          entry,
          `${words(entry)} goes beyond the last ID ${idSpace - 1}`,
        ),
      ),
  ];
}

/**
 * Each entry that shares IDs with one before it, once. Members of a group may all map its one GID; two
 * ranges of one user break podman, which maps them all, and those of two open one's files to the other.
 */
function overlaps(
  file: FileName,
  { entries }: SubordinateFile,
  people: ReadonlyMap<string, SubordinateUser>,
): SubordinateFault[] {
  const faults: SubordinateFault[] = [];
  const owner = ({ owner: text }: SubordinateEntry): string | number =>
    people.get(text)?.uid ?? text;
  let reaching: SubordinateEntry | undefined;
  for (const entry of sortedRanges(entries)) {
    if (reaching !== undefined && endOf(reaching) > entry.start) {
      const sharedGroup = reaching.count === 1 && entry.count === 1 && file === 'subgid';
      if (!sharedGroup || owner(entry) === owner(reaching))
        faults.push(
          of('entries-overlap', file, entry, `${words(entry)} overlaps ${words(reaching)}`),
        );
    }
    if (reaching === undefined || endOf(entry) > endOf(reaching)) reaching = entry;
  }
  return faults;
}

/** Ranges with somebody's own ID in them: their owner can become that user or group. */
function heldIds(
  file: FileName,
  { entries }: SubordinateFile,
  real: readonly OwnedId[],
): SubordinateFault[] {
  const sorted = [...real].sort((a, b) => a.id - b.id);
  const ids = sorted.map(({ id }) => id);
  return entries
    .filter(({ count }) => count > 1 || file === 'subuid')
    .flatMap((entry) => {
      const held = sorted[firstNotBelow(ids, entry.start)];
      if (held === undefined || held.id >= endOf(entry)) return [];
      return [
        of(
          'entry-holds-account',
          file,
          entry,
          `${words(entry)} holds ${held.id}, which is ${held.name}`,
        ),
      ];
    });
}

function words(entry: SubordinateEntry): string {
  return `${shownRange(entry)} of ${entry.owner} (line ${entry.line ?? 0})`;
}

function of(
  code: SubordinateFault['code'],
  file: FileName,
  { line }: SubordinateEntry,
  message: string,
): SubordinateFault {
  return { code, message: `${file}: ${message}`, file, ...(line === undefined ? {} : { line }) };
}
