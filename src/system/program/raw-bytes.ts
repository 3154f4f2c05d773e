import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { expectErrno } from '../errors/berth-error.ts';
import type { ProgramCall } from './program-call.ts';

/**
 * Arguments and environment variables that are not UTF-8. SSH transmits a command as bytes (RFC 4254, 6.5), and a
 * file name can be any bytes, but Node's strings lose bytes that are not UTF-8. In a raw string such a byte is a
 * lone surrogate, U+DC80 to U+DCFF, which valid text never contains (as Python's `surrogateescape`, PEP 383).
 * `throughShell` turns it back into the byte.
 */
const rawByte = /[\udc80-\udcff]/u;

export function holdsRawBytes(text: string): boolean {
  return rawByte.test(text);
}

/** Node's replacement for bytes that are not UTF-8. */
const replacement = '\ufffd';

export interface ProcessInput {
  readonly args: readonly string[];
  readonly env: Readonly<NodeJS.ProcessEnv>;
}

/**
 * The arguments and environment of this process as raw strings. /proc is read only if Node has replaced something.
 * If the kernel does not allow that, Node's strings are returned.
 */
export function withRawBytes(own: ProcessInput): ProcessInput {
  const { args, env } = own;
  const argsLost = args.some((word) => word.includes(replacement));
  const envLost = Object.values(env).some((value) => value?.includes(replacement) === true);
  if (!argsLost && !envLost) return own;
  const words = argsLost ? nulSeparated('cmdline') : [];
  return {
    args: words.length > args.length ? words.slice(-args.length) : args,
    env: envLost ? { ...env, ...Object.fromEntries(nulSeparated('environ').flatMap(pair)) } : env,
  };
}

/** The raw string of these bytes. */
export function rawString(bytes: Buffer): string {
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
  try {
    const text = readFileSync(`/proc/self/${file}`, 'latin1').replace(/\0$/, '');
    return text.split('\0').map((part) => rawString(Buffer.from(part, 'latin1')));
  } catch (error) {
    // The kernel shows it only to root.
    expectErrno(error, 'EACCES', 'EPERM');
    return [];
  }
}

function pair(text: string): [string, string][] {
  const end = text.indexOf('=');
  return end <= 0 ? [] : [[text.slice(0, end), text.slice(end + 1)]];
}

/**
 * The argv of a shell that runs a program with raw strings as its arguments. Node and Kubernetes pass only UTF-8;
 * sh(1) passes bytes. The arguments are parameters of the script, and never part of it.
 *
 * @param words program and arguments
 */
export function throughShell(words: readonly string[]): string[] {
  const parameters: string[] = [];
  const add = (parameter: string): string => `"\${${parameters.push(parameter)}}"`;
  const made: string[] = [];
  const quoted = words.map((word, index) => {
    if (!holdsRawBytes(word)) return add(word);
    // The x keeps trailing newlines, which $( ) removes.
    made.push(`w${index}=$(printf %b ${escapedParts(word).map(add).join(' ')} x)`);
    return `"\${w${index}%x}"`;
  });
  const script = ['LC_ALL=C', ...made, `exec ${quoted.join(' ')}`].join('\n');
  return ['sh', '-c', script, 'sh', ...parameters];
}

/** The same program, started by a shell if an argument is a raw string. argv[0] is the path then. */
export function passingRawBytes(
  call: Pick<ProgramCall, 'file' | 'args'>,
): Pick<ProgramCall, 'file' | 'args'> {
  return call.args.some(holdsRawBytes)
    ? { file: '/bin/sh', args: throughShell([call.file, ...call.args.slice(1)]) }
    : call;
}

/**
 * Octal escapes for `printf %b`, in parts that stay below the kernel's limit for one argument (MAX_ARG_STRLEN,
 * 128 KiB).
 */
function escapedParts(text: string): string[] {
  const parts: string[] = [];
  for (let start = 0; start < text.length;) {
    let end = Math.min(start + 20_000, text.length);
    // Do not split a surrogate pair.
    if (/[\ud800-\udbff]/.test(text.charAt(end - 1))) end += 1;
    parts.push(
      text
        .slice(start, end)
        .replaceAll('\\', '\\\\')
        .replace(/[\udc80-\udcff]/gu, (byte) => `\\0${(byte.charCodeAt(0) - 0xdc00).toString(8)}`),
    );
    start = end;
  }
  return parts;
}
