import {
  type ChildProcess,
  type ChildProcessByStdio,
  execFile,
  type ExecFileException,
  type ExecFileOptions,
  spawn,
  type SpawnOptions,
  spawnSync,
} from 'node:child_process';
import type { Readable, Writable } from 'node:stream';

export type { ChildProcess, ChildProcessByStdio, ExecFileException as ProgramError };

/** A process whose input, output and errors are pipes to this one. */
export type PipedProcess = ChildProcessByStdio<Writable, Readable, Readable>;

/** The result of a program. */
export interface ProgramResult {
  /** Set if it did not exit with 0: exit code, signal, or why it could not be started. */
  readonly error: ExecFileException | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

type Environment = Readonly<NodeJS.ProcessEnv>;

/** All that a program of the system needs, and nothing of the caller's environment. */
const systemEnvironment = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' };

export interface ProgramOptions extends Pick<
  ExecFileOptions,
  'killSignal' | 'signal' | 'maxBuffer'
> {
  /** Milliseconds; then it gets `killSignal`. */
  readonly timeoutMs?: number;
  /** The whole environment; by default PATH with the system's directories, and English. */
  readonly env?: Environment;
  /** `/` by default. */
  readonly cwd?: string;
  /** Its standard input; without it the pipe stays open. */
  readonly input?: string;
}

/** Runs a program and waits for its end. It does not throw. */
export function runProgram(
  file: string,
  args: readonly string[],
  { timeoutMs, env = systemEnvironment, cwd = '/', input, ...limits }: ProgramOptions = {},
): Promise<ProgramResult> {
  return new Promise((resolve) => {
    const options = {
      ...limits,
      timeout: timeoutMs,
      cwd,
      env,
      encoding: 'utf8',
    } as const;
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

export interface SyncOptions extends Pick<ProgramOptions, 'timeoutMs' | 'maxBuffer'> {
  /** Descriptor of its standard input; none by default. */
  readonly stdin?: number;
  readonly encoding?: 'utf8' | 'latin1';
}

/** Runs a program while this process waits for its end. It does not throw. */
export function runProgramSync(
  file: string,
  args: readonly string[],
  { timeoutMs, stdin, encoding = 'utf8', ...limits }: SyncOptions,
) {
  const options = { ...limits, timeout: timeoutMs, cwd: '/', encoding } as const;
  return spawnSync(file, args, {
    ...options,
    env: systemEnvironment,
    stdio: [stdin ?? 'ignore', 'pipe', 'pipe'],
  });
}

/** Of standard input, output or error: a pipe to this process, this process's own, none, or that of a descriptor. */
type Stream = 'pipe' | 'inherit' | 'ignore' | number;

/** `cwd` is `/` by default, and if undefined this process's; `detached`: in a session of its own. */
export interface StartOptions<Input, Output, Errors> extends Pick<
  SpawnOptions,
  'cwd' | 'detached' | 'uid' | 'gid'
> {
  /** The whole environment; undefined: this process's. */
  readonly env: Environment | undefined;
  readonly stdio: readonly [Input, Output, Errors];
}

/**
 * Starts a program.
 *
 * @throws system errors of spawn, where it cannot be tried; otherwise the child has the event `error`
 */
export function startProgram<Input extends Stream, Output extends Stream, Errors extends Stream>(
  file: string,
  args: readonly string[],
  { stdio, ...options }: StartOptions<Input, Output, Errors>,
) {
  const child: ChildProcess = spawn(file, args, { cwd: '/', ...options, stdio: [...stdio] });
  return child as ChildProcessByStdio<
    Input extends 'pipe' ? Writable : null,
    Output extends 'pipe' ? Readable : null,
    Errors extends 'pipe' ? Readable : null
  >;
}
