import { readFile, stat } from 'node:fs/promises';
import { type IdRange, parseSubordinateFile } from './subordinate-file.ts';

type RangesByOwner = ReadonlyMap<string, readonly IdRange[]>;

/** The last file that was read: the reaper asks for one user after the other, and the file has a line for each of them. */
let last: { readonly version: string; readonly ranges: RangesByOwner } | undefined;

/**
 * A user's ranges in a file as /etc/subuid; none if it cannot be read. The file is read again when it was replaced or changed.
 *
 * @param file default: /etc/subuid
 */
export async function subordinateRanges(
  { name, uid }: { readonly name: string; readonly uid: number },
  file = '/etc/subuid',
): Promise<readonly IdRange[]> {
  const all = await rangesIn(file).catch((): RangesByOwner => new Map());
  const numeric = String(uid);
  return [...(all.get(name) ?? []), ...(name === numeric ? [] : (all.get(numeric) ?? []))];
}

async function rangesIn(file: string): Promise<RangesByOwner> {
  const { dev, ino, size, mtimeNs, ctimeNs } = await stat(file, { bigint: true });
  const version = [file, dev, ino, size, mtimeNs, ctimeNs].join(' ');
  if (last?.version === version) return last.ranges;
  const { entries } = parseSubordinateFile(await readFile(file, 'latin1'));
  const ranges = Map.groupBy(
    entries.filter(({ start }) => start > 0),
    ({ owner }) => owner,
  );
  last = { version, ranges };
  return ranges;
}
