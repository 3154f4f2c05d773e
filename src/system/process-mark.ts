import { readFileSync, readlinkSync } from 'node:fs';
import { isErrno } from '../errors.ts';

/**
 * `4f0c2a1b-4026531836-4711`, for names of temporary files: this boot, this process-id namespace and
 * this process. Whoever finds such a file after a kill -9 knows at once that nobody will finish it.
 */
export function processMark(): string {
  return `${world()}-${process.pid}`;
}

/** What `processMark` makes, for regular expressions. */
export const markPattern = '[0-9a-f]{8}-[0-9]+-[0-9]+';

/** True only where the process of this mark is known to be gone: one of another host never is. */
export function isOfDead(mark: string): boolean {
  const cut = mark.lastIndexOf('-');
  if (mark.slice(0, cut) !== world()) return false;
  try {
    process.kill(Number(mark.slice(cut + 1)), 0);
    return false;
  } catch (error) {
    // EPERM is an answer of the living.
    return isErrno(error, 'ESRCH');
  }
}

let known: string | undefined;

function world(): string {
  known ??= `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').slice(0, 8)}-${readlinkSync('/proc/self/ns/pid').replace(/\D/g, '')}`;
  return known;
}
