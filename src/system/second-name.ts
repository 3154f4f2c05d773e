import { link } from 'node:fs/promises';
import { isErrno } from './errors/berth-error.ts';
import { writeError } from './atomic-file.ts';

/** A time as part of a file's name: `20261123T184500Z`. */
export function nameStamp(now: Date): string {
  return now.toISOString().replaceAll(/[-:]|\.\d+/g, '');
}

/** Gives the file a second name; another one if somebody has changed it twice in a second. */
export async function linkAs(path: string, wanted: string): Promise<string> {
  for (let count = 1; ; count += 1) {
    const kept = count === 1 ? wanted : `${wanted}-${count}`;
    try {
      await link(path, kept);
      return kept;
    } catch (error) {
      if (!isErrno(error, 'EEXIST') || count === 100) throw writeError(kept, error);
    }
  }
}
