import { escapeControl } from '../log.ts';
import type { BerthError } from '../errors.ts';

/** The process as a command sees it; `berth.ts` hands in the real one. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdout: TextStream;
  readonly stderr: TextStream;
  /** Whether a person would have to type what is read. */
  readonly stdinIsTTY: boolean;
  /** The program's version, as `--version` prints it. */
  readonly version: string;
  /** Path of the command itself, to run it again. */
  readonly program: string;
  /** Of the bundled file-transfer programs, beside the command. */
  readonly filesFolder: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** The exit status that the process will end with; the highest of several counts. */
  readonly finish: (status: number) => void;
}

export interface TextStream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
}

/** Colours are for people, and for those only who did not ask for none (no-color.org). */
export function wantsColour(stream: TextStream, env: Terminal['env']): boolean {
  return stream.isTTY === true && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb';
}

/** Whether the locale can show more than ASCII: LC_ALL over LC_CTYPE over LANG, as setlocale(3). */
export function wantsUnicode(env: Terminal['env']): boolean {
  const locale = [env.LC_ALL, env.LC_CTYPE, env.LANG].find((value) => (value ?? '') !== '');
  return /utf-?8/i.test(locale ?? '');
}

/** What a server, a file or a user wrote, on one line and without power over the terminal. */
export function shown(text: string): string {
  return escapeControl(text).replaceAll('\\\\', '\\');
}

/**
 * What JSON and YAML may hold as it is and a terminal obeys or hides: DEL, C1 controls, line
 * separators and bidirectional overrides, as `\uXXXX` of a quoted string.
 */
export function escapeUnseen(text: string): string {
  return text.replace(
    /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** An error for the admin: one line of what happened, one of what to do. */
export function errorText(error: BerthError): string {
  return `berth: ${shown(error.message)} [${error.code}]\nnext: ${shown(error.hint)}\n`;
}

/** Writes an error to standard error and makes its exit status the process's. */
export function fail(terminal: Terminal, error: BerthError): void {
  terminal.stderr.write(errorText(error));
  terminal.finish(error.exitCode);
}
