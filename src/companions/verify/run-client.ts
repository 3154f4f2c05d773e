import { startProgram } from '../../system/run-program.ts';

export interface ClientResult {
  /** Undefined if a signal killed the process. */
  readonly exitCode: number | undefined;
  readonly signal?: NodeJS.Signals;
  readonly stdout: Buffer;
  readonly stderr: string;
}

export interface ClientOptions {
  readonly input?: string | Buffer;
  /** Milliseconds until the process is killed with SIGKILL; default 90 s, for a busy machine. */
  readonly timeout?: number;
  /** The complete environment; default: the environment of this process. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** Runs a program and waits for its end. @returns its output as bytes, and how it ended; a failure is not an exception */
export function run(
  command: string,
  args: readonly string[],
  { input = '', timeout = 90_000, env, cwd }: ClientOptions = {},
): Promise<ClientResult> {
  return new Promise((resolve, reject) => {
    const child = startProgram(command, args, { env, cwd, stdio: ['pipe', 'pipe', 'pipe'] });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
    // EPIPE, if the process exits without reading its input.
    child.stdin.on('error', () => undefined);
    child.stdin.end(input);
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      child.kill('SIGKILL');
      // Children of the process may keep the pipes open; do not wait for them.
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
        stderr: timedOut ? `${stderr}(killed after ${timeout} ms)` : stderr,
      });
    });
  });
}
