import { execFile, type ExecFileException, type ExecFileOptions } from 'node:child_process';

/** What a program that ended printed. */
export interface ProgramResult {
  /** Why it did not end with 0: its code, its signal, or that it could not be started. */
  readonly error: ExecFileException | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end; the caller says what its failure means. */
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
