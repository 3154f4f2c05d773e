import { readFileSync, readlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isErrno } from './errors/berth-error.ts';

/**
 * `4f0c2a1b-4026531836-4711`: boot, PID namespace and PID of this process, for names of temporary files and for
 * locks. A later process can tell from it that the file was left by one that was killed.
 */
export function processMark(): string {
  return `${world()}-${process.pid}`;
}

/** What `processMark` returns, as part of a regular expression. */
export const markPattern = '[0-9a-f]{8}-[0-9]+-[0-9]+';

/** The PID in a mark of this boot and PID namespace; undefined for a mark of another host. */
export function pidOfMark(mark: string): number | undefined {
  const cut = mark.lastIndexOf('-');
  return mark.slice(0, cut) === world() ? Number(mark.slice(cut + 1)) : undefined;
}

/** Whether the process of this mark is known to have ended. That of another host never is. */
export function isDeadMark(mark: string): boolean {
  const pid = pidOfMark(mark);
  return pid !== undefined && isNoProcess(pid);
}

/** Whether no process has this PID. One that has ended counts until its parent has waited for it. */
export function isNoProcess(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    // EPERM: it exists and belongs to another user.
    return isErrno(error, 'ESRCH');
  }
}

let known: string | undefined;

function world(): string {
  known ??= `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').slice(0, 8)}-${readlinkSync('/proc/self/ns/pid').replace(/\D/g, '')}`;
  return known;
}

/**
 * `.NAME.berth-MARK-0123456789abcdef` in the same directory: a new hidden name for contents that will replace the
 * file. Later writers of the file recognize it, and remove it once the process of the mark has ended.
 */
export function temporaryName(path: string): string {
  return join(dirname(path), `${stemOf(path)}${processMark()}-${randomDigits(16)}`);
}

/** Whether a name in the directory of `path` is a temporary name of that file. */
export function isTemporary(name: string, path: string): boolean {
  return ending.test(endOf(name, path));
}

/** Whether it is one whose writer is known to have ended. */
export function isAbandoned(name: string, path: string): boolean {
  const mark = ending.exec(endOf(name, path))?.[1];
  return mark !== undefined && isDeadMark(mark);
}

const ending = new RegExp(`^(${markPattern})-[0-9a-f]{16}$`);

function endOf(name: string, path: string): string {
  const stem = stemOf(path);
  return name.startsWith(stem) ? name.slice(stem.length) : '';
}

function stemOf(path: string): string {
  return `.${basename(path)}.berth-`;
}

/**
 * Random hexadecimal digits for unique names. They are not secret: loading node:crypto would cost each login 4 ms.
 */
export function randomDigits(count: number): string {
  const digit = (): string => Math.trunc(Math.random() * 16).toString(16);
  return Array.from({ length: count }, digit).join('');
}
