import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { isErrno } from '../errors.ts';

/** What Node makes of any byte that is no UTF-8. */
const lost = '\ufffd';

export interface OwnWords {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * The same words and environment with every byte kept. /proc is read only where something may have been
 * lost; where it cannot be read, Node's reading stays.
 */
export function withRawBytes(own: OwnWords): OwnWords {
  const { args, env } = own;
  const argsLost = args.some((word) => word.includes(lost));
  const envLost = Object.values(env).some((value) => value?.includes(lost) === true);
  if (!argsLost && !envLost) return own;
  const words = argsLost ? nulSeparated('cmdline') : [];
  return {
    args: words.length > args.length ? words.slice(-args.length) : args,
    env: envLost ? { ...env, ...Object.fromEntries(nulSeparated('environ').flatMap(pair)) } : env,
  };
}

/** Text, with each byte that is none as a lone surrogate. */
export function textOf(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8');
  let text = '';
  for (let at = 0; at < bytes.length;) {
    const length = [1, 2, 3, 4].find((size) => isUtf8(bytes.subarray(at, at + size)));
    if (length === undefined) {
      text += String.fromCharCode(0xdc00 + (bytes[at] ?? 0));
      at += 1;
    } else {
      text += bytes.toString('utf8', at, at + length);
      at += length;
    }
  }
  return text;
}

function nulSeparated(file: 'cmdline' | 'environ'): string[] {
  const bytes = readOwn(file);
  const words: string[] = [];
  for (let start = 0; start < bytes.length;) {
    const found = bytes.indexOf(0, start);
    const end = found < 0 ? bytes.length : found;
    words.push(textOf(bytes.subarray(start, end)));
    start = end + 1;
  }
  return words;
}

/** Nothing where the kernel shows it to root alone. */
function readOwn(file: string): Buffer {
  try {
    return readFileSync(`/proc/self/${file}`);
  } catch (error) {
    if (isErrno(error, 'EACCES', 'EPERM')) return Buffer.alloc(0);
    throw error;
  }
}

function pair(text: string): [string, string][] {
  const end = text.indexOf('=');
  return end <= 0 ? [] : [[text.slice(0, end), text.slice(end + 1)]];
}
