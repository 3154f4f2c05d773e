import { BerthError, isErrno } from '../errors.ts';
import { isTerminal } from '../system/is-terminal.ts';
import { ownOutput } from '../ssh/pod/exec/stdout-sink.ts';
import { errorText, type TextStream } from './terminal.ts';

/**
 * A command's standard output and standard error. Not process.stdout: an error there ends the process in
 * the middle of its work, and what a pipe has not taken is lost with process.exit().
 */
export interface TextOutputs {
  readonly stdout: TextStream;
  readonly stderr: TextStream;
  /**
   * Waits until a reader has taken all of it, however slow it is.
   *
   * @returns An exit status: 0 where all was written, 141 where the reader of standard output went away,
   *   74 where it could not be written, which is said on standard error. Nobody has to read standard error.
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
    const failed = new BerthError(`standard output cannot be written: ${error.message}`, {
      code: 'output-failed',
      exit: 'io',
      hint: 'The output is incomplete. Free space where it goes (df, quota), and run the command again.',
    });
    stderr.write(errorText(failed));
    return failed.exitCode;
  };
  return {
    ...{ stdout, stderr },
    finished: async () => {
      const code = status(await stdout.finished());
      await stderr.finished();
      return code;
    },
  };
}

function textOutput(descriptor: 1 | 2): TextStream & { finished(): Promise<Error | undefined> } {
  const output = ownOutput(descriptor);
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
