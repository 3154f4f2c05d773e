import { execFile, type ExecFileException, type ExecFileOptions } from 'node:child_process';

/** The result of a program. */
export interface ProgramResult {
  /** Set if it did not exit with 0: exit code, signal, or why it could not be started. */
  readonly error: ExecFileException | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program and waits for its end. It does not throw. */
export function runProgram(
  file: string,
  args: readonly string[],
  options: ExecFileOptions,
): Promise<ProgramResult> {
  return new Promise((resolve) => {
    execFile(file, args, { ...options, encoding: 'utf8' }, (error, stdout, stderr) =>
      resolve({ error: error ?? undefined, stdout, stderr }),
    );
  });
}
