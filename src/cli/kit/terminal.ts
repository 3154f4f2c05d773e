import { BerthError, isErrno } from '../../system/errors/berth-error.ts';
import { processOutput } from '../../sessions/exec/stdout-sink.ts';
import { escapedForTerminal, escapeInvisible } from '../../log.ts';
import { isTerminal } from '../../system/controlling-terminal.ts';
import type { Documents } from '../documents.ts';
import type { DocumentError } from './document-parts.ts';

/** The environment of a command; `berth.ts` passes the real one. */
export interface Terminal {
  readonly env: Readonly<NodeJS.ProcessEnv>;
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
function errorJson(error: BerthError): string {
  const fields: Documents['Error'] = { ...documentError(error), exitStatus: error.exitCode };
  return `${escapeInvisible(JSON.stringify({ apiVersion, kind: 'Error', ...fields }))}\n`;
}

export function documentError({ code, message, hint }: BerthError): DocumentError {
  return { code, message, next: hint };
}

/** Reports each error of a list, such as the profiles or clusters with mistakes. */
export function reportErrors(
  terminal: Terminal,
  failures: Iterable<{ readonly error: BerthError }>,
): void {
  for (const { error } of failures) reportError(terminal, error);
}

/** Writes an error to standard error, as JSON if JSON was asked for, and makes its exit status the process's. */
export function reportError(
  terminal: Pick<Terminal, 'stderr' | 'wantsJson' | 'wanted' | 'finish'>,
  error: BerthError,
): void {
  terminal.stderr.write(terminal.wantsJson === true ? errorJson(error) : errorText(error));
  terminal.wanted?.debug?.(error);
  if (terminal.wanted !== undefined) terminal.wanted.failed = true;
  terminal.finish(error.exitCode);
}

/** Of the documents that commands print with `-o json`. Changes when the meaning of a field changes; fields may be added. */
export const apiVersion = 'berth/v1';

/** A document for scripts, with its kind as Kubernetes objects have it. Companions have kinds of their own. */
export function documentText<Own = Documents, Kind extends keyof Own = keyof Own>(
  kind: Kind,
  fields: Own[Kind],
): string {
  return escapeInvisible(`${JSON.stringify({ apiVersion, kind, ...fields }, null, 2)}\n`);
}

/**
 * Standard output and standard error of a command. Not process.stdout: an error there would end the
 * process during its work, and process.exit() would lose what a pipe has not read.
 */
interface TextOutputs {
  readonly stdout: TextStream;
  readonly stderr: TextStream;
  /**
   * Waits until all output is written, however slow the reader is.
   *
   * @returns An exit status: 0 if all was written, 141 if the reader of standard output closed it, 74 for
   *   another error, which is reported on standard error. Errors of standard error are ignored.
   */
  finished(): Promise<number>;
}

/** 128 + SIGPIPE, as a shell shows a program that this signal ended. */
const readerGone = 141;

export function textOutputs(): TextOutputs {
  const [stdout, stderr] = [textOutput(1), textOutput(2)];
  const status = (error: Error | undefined): number => {
    if (error === undefined) return 0;
    if (isErrno(error, 'EPIPE', 'ECONNRESET')) return readerGone;
    const failed = new BerthError(
      'output-failed',
      `standard output cannot be written: ${error.message}`,
      {
        hint: isErrno(error, 'EBADF')
          ? 'It is closed. Run the command again without `>&-`; `>/dev/null` discards the output.'
          : undefined,
      },
    );
    stderr.write(errorText(failed));
    return failed.exitCode;
  };
  return {
    stdout,
    stderr,
    finished: async () => {
      const code = status(await stdout.finished());
      await stderr.finished();
      return code;
    },
  };
}

function textOutput(descriptor: 1 | 2): TextStream & { finished(): Promise<Error | undefined> } {
  const output = processOutput(descriptor);
  let broken: Error | undefined;
  output.onBroken = (error) => {
    broken = error;
  };
  return {
    isTTY: isTerminal(descriptor),
    write: (text) => output.write(Buffer.from(text)),
    finished: async () => {
      await output.flushed();
      return broken;
    },
  };
}
