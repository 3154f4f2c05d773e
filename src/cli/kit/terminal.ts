import { escapedForTerminal } from '../../log.ts';
import type { BerthError } from '../../errors/berth-error.ts';
import { apiVersion } from './api-version.ts';
import type { Documents } from '../documents.ts';

/** The environment of a command; `berth.ts` passes the real one. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: TextStream;
  readonly stderr: TextStream;
  /** True if standard input is a terminal. */
  readonly stdinIsTTY: boolean;
  /** Whether the output is JSON, so that errors are too. */
  readonly wantsJson?: boolean;
  /** What the global options ask for, as soon as they are read. */
  readonly wanted?: WantedOutput;
  /** Width of the terminal, if help is printed on one. */
  readonly columns?: number | undefined;
  /** The program's version, as `--version` prints it. */
  readonly version: string;
  /** Path of the command itself, to run it again. */
  readonly program: string;
  /** Directory of the transfer tools, beside the command. */
  readonly toolsDir: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** The exit status that the process will end with; the highest of several counts. */
  readonly finish: (status: number) => void;
}

export interface WantedOutput {
  /** No progress. */
  quiet: boolean;
  /** Whether an error was reported. */
  failed: boolean;
  /** With `--debug`: prints where an error came from. */
  debug?: ((error: BerthError) => void) | undefined;
}

export interface TextStream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
}

/** True for a terminal, unless NO_COLOR (no-color.org) or TERM=dumb is set. */
export function wantsColour(stream: TextStream, env: Terminal['env']): boolean {
  return stream.isTTY === true && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb';
}

/** Whether the locale is UTF-8: LC_ALL before LC_CTYPE before LANG, as in setlocale(3). */
export function wantsUnicode(env: Terminal['env']): boolean {
  const locale = [env.LC_ALL, env.LC_CTYPE, env.LANG].find((value) => (value ?? '') !== '');
  return /utf-?8/i.test(locale ?? '');
}

/**
 * Escapes, as `\uXXXX`, the characters that are legal in JSON and YAML strings but that a terminal
 * interprets or hides: DEL, C1 controls, line separators and bidirectional overrides.
 */
export function escapeInvisible(text: string): string {
  return text.replace(
    /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** What a command says that finds nothing to do. On a terminal and in dry runs only: cron would send it by mail each time. */
export function writeIdle(
  text: string,
  dryRun: boolean,
  { stdout }: Pick<Terminal, 'stdout'>,
): void {
  if (dryRun || stdout.isTTY === true) stdout.write(`${text}\n`);
}

/** What every dry run says at its end, on standard error. */
export const dryRunText = 'dry run: nothing was changed\n';

/** An error in two lines: what happened, with its code, and what to do. */
export function errorText(error: BerthError): string {
  return `berth: ${escapedForTerminal(error.message)} [${error.code}]\nnext: ${escapedForTerminal(error.hint)}\n`;
}

/** The same for scripts, on one line. */
function errorJson({ code, message, hint, exitCode }: BerthError): string {
  const error: Documents['Error'] = { code, message, next: hint, exitStatus: exitCode };
  return `${escapeInvisible(JSON.stringify({ apiVersion, kind: 'Error', ...error }))}\n`;
}

/** Reports each error of a list, such as the profiles or clusters with mistakes. */
export function reportErrors(
  terminal: Terminal,
  failures: Iterable<{ readonly error: BerthError }>,
): void {
  for (const { error } of failures) reportError(terminal, error);
}

/** Writes an error to standard error, as JSON if JSON was asked for, and makes its exit status the process's. */
export function reportError(terminal: Terminal, error: BerthError): void {
  terminal.stderr.write(terminal.wantsJson === true ? errorJson(error) : errorText(error));
  terminal.wanted?.debug?.(error);
  if (terminal.wanted !== undefined) terminal.wanted.failed = true;
  terminal.finish(error.exitCode);
}
