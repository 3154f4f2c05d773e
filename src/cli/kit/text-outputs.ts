import { BerthError, isErrno } from '../../errors/berth-error.ts';
import { isTerminal } from '../../system/terminal.ts';
import { processOutput } from '../../kube-exec/stdout-sink.ts';
import { errorText, type TextStream } from './terminal.ts';

/**
 * Standard output and standard error of a command. Not process.stdout: an error there would end the
 * process during its work, and process.exit() would lose what a pipe has not read.
 */
export interface TextOutputs {
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
    const failed = new BerthError(`standard output cannot be written: ${error.message}`, {
      code: 'output-failed',
      hint: isErrno(error, 'EBADF')
        ? 'It is closed. Run the command again without `>&-`; `>/dev/null` discards the output.'
        : undefined,
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
