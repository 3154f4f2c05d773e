import {
  fstatSync,
  linkSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { randomDigits } from '../../system/temporary-name.ts';
import { mostOfSpool, spoolFile } from '../../system/event-spool.ts';
import { unlessMissing } from '../../system/if-present.ts';
import { whileOpen } from '../../system/path-descriptor.ts';
import { readPrivateFile, writePrivateFile } from '../../system/private-file.ts';
import { ensureRootDirectory } from '../../system/safe-directories.ts';
import { countEvent, parseEvent } from './rules/count-event.ts';
import { emptyTotals, type Totals } from './rules/totals.ts';
import { parsedJson } from '../../system/text/parsed-json.ts';

/** What has been counted since boot. */
interface Counted extends Totals {
  /** How much of each file of the spool has been counted, by the ID in its first line. Bytes. */
  readonly offsets: Readonly<Record<string, number>>;
  /** When the spool was last replaced by an empty one. Milliseconds since the epoch. */
  readonly rotated: number;
}

/** The file that the spool replaced. A program that had opened it may still append. */
const formerFile = `${spoolFile}.former`;

/** A smaller spool is not replaced. Bytes. */
const enough = 256 * 1024;

/** A program appends within this time after it opened the spool. Milliseconds. */
const appendMs = 600_000;

/** The totals of a site with many clusters and profiles. Bytes. */
const mostOfTotals = 8 * 1024 * 1024;

/**
 * Counts the events that root's programs have appended since the last call, and makes the spool if there is none. At a
 * kill at any moment each event is still counted once: the totals and how far the spool was read are one file. Only for
 * root, and one at a time.
 *
 * @param directory `spoolDir`
 * @param now milliseconds since the epoch
 * @returns the totals, and whether events were lost because the spool was full
 * @throws {BerthError} `directory-unsafe`; system errors
 */
export function foldSpool(
  directory: string,
  now: number,
): { readonly totals: Totals; readonly isFull: boolean } {
  ensureRootDirectory(directory);
  const before = readCounted(`${directory}/totals.json`);
  const totals: Totals = { counters: before.counters, histograms: before.histograms };
  const offsets: Record<string, number> = {};
  let size = 0;
  for (const name of [formerFile, spoolFile]) {
    const file = unlessMissing(() => openSync(`${directory}/${name}`, 'r'));
    if (file === undefined) continue;
    whileOpen(file, () => {
      size = fstatSync(file).size;
      countFile(file, before.offsets, { offsets, totals });
    });
  }
  const isFull = size >= mostOfSpool;
  const isUrgent = size > mostOfSpool / 2;
  const rotates = size > enough && (isUrgent || now - before.rotated > appendMs);
  const isNew = Object.keys(offsets).length === 0;
  const counted: Counted = { ...totals, offsets, rotated: rotates ? now : before.rotated };
  writePrivateFile(`${directory}/totals.json`, JSON.stringify(counted));
  if (rotates || isNew) replaceSpool(directory);
  return { totals, isFull };
}

/** Counts the complete lines that have not been counted, and notes how far that is. */
function countFile(
  file: number,
  before: Readonly<Record<string, number>>,
  to: { readonly offsets: Record<string, number>; readonly totals: Totals },
): void {
  const bytes = readFrom(file, 0, idBytes).toString('latin1');
  const id = idForm.exec(bytes)?.[1];
  if (id === undefined) return;
  // A rotation that was killed leaves one file with both names.
  let at = to.offsets[id] ?? before[id] ?? idBytes;
  for (;;) {
    const chunk = readFrom(file, at, chunkBytes);
    const whole = chunk.lastIndexOf('\n') + 1;
    // No event is as long as that.
    const end = whole === 0 && chunk.length === chunkBytes ? chunkBytes : whole;
    if (end === 0) break;
    for (const line of chunk.subarray(0, end).toString('utf8').split('\n')) {
      const event = line === '' ? undefined : parseEvent(line);
      if (event !== undefined) countEvent(event, to.totals);
    }
    at += end;
  }
  to.offsets[id] = at;
}

const chunkBytes = 1024 * 1024;
const idForm = /^spool ([0-9a-f]{16})\n$/;
const idBytes = 'spool \n'.length + 16;

/** There is a spool at any moment, so no program finds none. */
function replaceSpool(directory: string): void {
  const path = (name: string): string => `${directory}/${name}`;
  const next = path(`${spoolFile}.new`);
  rmSync(next, { force: true });
  writeFileSync(next, `spool ${randomDigits(16)}\n`, { mode: 0o600, flag: 'wx' });
  rmSync(path(formerFile), { force: true });
  unlessMissing(() => linkSync(path(spoolFile), path(formerFile)));
  renameSync(next, path(spoolFile));
}

function readCounted(path: string): Counted {
  const text = readPrivateFile(path, 0, mostOfTotals) ?? '';
  const none: Counted = { ...emptyTotals(), offsets: {}, rotated: 0 };
  // Counters may restart at any time.
  return { ...none, ...(parsedJson(text) as Partial<Counted> | undefined) };
}

function readFrom(file: number, position: number, bytes: number): Buffer {
  const buffer = Buffer.alloc(bytes);
  let length = 0;
  for (;;) {
    const read = readSync(file, buffer, length, bytes - length, position + length);
    if (read === 0) break;
    length += read;
    if (length === bytes) break;
  }
  return buffer.subarray(0, length);
}
