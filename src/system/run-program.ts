import { execFile, type ExecFileException, type ExecFileOptions } from 'node:child_process';

/** The result of a program. */
export interface ProgramResult {
  /** Set if it did not exit with 0: exit code, signal, or why it could not be started. */
  readonly error: ExecFileException | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

/** All that a program of the system needs, and nothing of the caller's environment. */
const systemEnvironment = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' };

export interface ProgramOptions extends Pick<
  ExecFileOptions,
  'timeout' | 'killSignal' | 'signal' | 'maxBuffer'
> {
  /** The whole environment; by default PATH with the system's directories, and English. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** `/` by default. */
  readonly cwd?: string;
  /** Its standard input; without it the pipe stays open. */
  readonly input?: string;
}

/** Runs a program and waits for its end. It does not throw. */
export function runProgram(
  file: string,
  args: readonly string[],
  { env = systemEnvironment, cwd = '/', input, ...limits }: ProgramOptions = {},
): Promise<ProgramResult> {
  return new Promise((resolve) => {
    const options = { ...limits, cwd, env: { ...env }, encoding: 'utf8' } as const;
    const child = execFile(file, args, options, (error, stdout, stderr) => {
      // Node's message has all arguments, such as a script.
      if (error?.message.startsWith('Command failed: ') === true)
        error.message = [
          `${file} ended with ${error.signal ?? `status ${error.code ?? 'unknown'}`}`,
          ...(stderr.trim() === '' ? [] : [stderr.trim()]),
        ].join(': ');
      resolve({ error: error ?? undefined, stdout, stderr });
    });
    // It may end before it has read its input.
    if (input !== undefined) child.stdin?.on('error', () => undefined).end(input);
  });
}
