import { basename, dirname, join } from 'node:path';
import { isDeadMark, markPattern, processMark } from './process-identity.ts';

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
