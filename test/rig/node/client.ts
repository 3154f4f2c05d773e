import { spawn } from 'node:child_process';

export interface ClientResult {
  /** undefined if the process died from a signal. */
  readonly exitCode: number | undefined;
  readonly signal?: NodeJS.Signals;
  readonly stdout: Buffer;
  readonly stderr: string;
}

export interface ClientOptions {
  readonly input?: string | Buffer;
  /** Time until the process is killed; 30 s by default. Milliseconds. */
  readonly timeout?: number;
  /** The whole environment; by default that of the test. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** Runs a program until it ends, and keeps the bytes of its output. */
export function run(
  command: string,
  args: readonly string[],
  { input = '', timeout = 30_000, env, cwd }: ClientOptions = {},
): Promise<ClientResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      stdio: ['pipe', 'pipe', 'pipe'],
      ...(env === undefined ? {} : { env }),
      ...(cwd === undefined ? {} : { cwd }),
    });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
    // A process may end without reading its input.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      child.kill('SIGKILL');
      // Children may keep the pipes open; the result does not need them.
      child.stdout.destroy();
      child.stderr.destroy();
    }, timeout);
    child.once('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.once('close', (exitCode, signal) => {
      clearTimeout(timer);
      const stderr = Buffer.concat(err).toString();
      resolve({
        exitCode: exitCode ?? undefined,
        ...(signal === null ? {} : { signal }),
        stdout: Buffer.concat(out),
        stderr: late ? `${stderr}(killed after ${timeout} ms)` : stderr,
      });
    });
  });
}
