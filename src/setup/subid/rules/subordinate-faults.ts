import {
  fileNames,
  type KnownId,
  type SubordinateFileName,
  type SubordinateFault,
  type SubordinateInput,
  type SubordinateUser,
} from './subordinate-input.ts';
import type { ErrorCode, LogCode } from '../../../errors/error-codes.ts';
import { endOf, formatRange, indexRanges, sortedRanges } from './id-ranges.ts';
import {
  idCount,
  type IdRange,
  type SubordinateEntry,
  type SubordinateFile,
} from '../../../identity/subordinate-file.ts';

/** Faults in the files, except those of `heldIds`. Berth never changes existing lines: only the admin knows what they are for. */
export function existingFaults(
  { files }: Pick<SubordinateInput, 'files'>,
  people: ReadonlyMap<string, SubordinateUser>,
): SubordinateFault[] {
  return fileNames.flatMap((file) => [
    ...unreadable(file, files[file]),
    ...overlaps(file, files[file], people),
  ]);
}

function unreadable(
  file: SubordinateFileName,
  { malformed, entries }: SubordinateFile,
): SubordinateFault[] {
  return [
    ...malformed.map(({ line, text }): SubordinateFault => ({
      code: 'subid-entry-malformed',
      message: `line ${line} of ${file} is not OWNER:START:COUNT and is ignored: ${JSON.stringify(text.slice(0, 60))}`,
      file,
      line,
    })),
    ...entries
      .filter((entry) => endOf(entry) > idCount)
      .map((entry) =>
        of(
          'subid-entry-beyond-ids',
          file,
          entry,
          `${words(entry)} ends after the last ID ${idCount - 1}`,
        ),
      ),
  ];
}

/**
 * Reports each entry that overlaps an earlier one, once. All members of a group may map its single GID. Two overlapping
 * ranges of one user break podman, which maps them all; those of two users give one access to files of the other.
 */
function overlaps(
  file: SubordinateFileName,
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
          of('subid-entries-overlap', file, entry, `${words(entry)} overlaps ${words(reaching)}`),
        );
    }
    if (reaching === undefined || endOf(entry) > endOf(reaching)) reaching = entry;
  }
  return faults;
}

/** Ranges that contain an ID of a user or group, or one that somebody may have: their owner can get the rights of these. */
export function heldIds({
  files,
  real,
  directory,
}: Pick<SubordinateInput, 'files' | 'real' | 'directory'>): SubordinateFault<ErrorCode>[] {
  const reserved = indexRanges(directory.reserved);
  return fileNames.flatMap((file) => {
    // One that a host lists is named rather than the range around it.
    const known = indexRanges(real[file].map(({ id, name }) => ({ start: id, count: 1, name })));
    return files[file].entries
      .filter(({ count }) => count > 1 || file === 'subuid')
      .flatMap((entry) => {
        const held = known.overlapping(entry) ?? reserved.overlapping(entry);
        if (held === undefined) return [];
        return [
          of('subid-entry-holds-account', file, entry, `${words(entry)} ${overlapText(held)}`),
        ];
      });
  });
}

/** `contains 1000, which is user ada` */
export function overlapText(held: IdRange & Pick<KnownId, 'name'>, contains = 'contains'): string {
  return `${contains} ${held.count === 1 ? '' : 'IDs of '}${formatRange(held)}, which is ${held.name}`;
}

function words(entry: SubordinateEntry): string {
  return `${formatRange(entry)} of ${entry.owner} (line ${entry.line ?? 0})`;
}

function of<Code extends LogCode>(
  code: Code,
  file: SubordinateFileName,
  { line }: SubordinateEntry,
  message: string,
): SubordinateFault<Code> {
  return { code, message: `${file}: ${message}`, file, line };
}
