import { once } from 'node:events';
import { type PipedProcess, startProgram } from '../../system/run-program.ts';
import { waitFor } from './wait-for.ts';
import type { Client } from './client.ts';

/** A client that runs in the background, for example to keep forwards open. */
export class BackgroundClient {
  readonly #child: PipedProcess;
  #stdout = '';
  #stderr = '';

  private constructor(child: PipedProcess) {
    this.#child = child;
    child.stdout.on('data', (chunk: Buffer) => (this.#stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (this.#stderr += chunk.toString()));
    child.stdin.on('error', () => undefined);
  }

  /** Starts ssh with further arguments; its stdin stays open. */
  static ssh(client: Client, args: readonly string[], env = {}): BackgroundClient {
    return BackgroundClient.start(client, [...client.sshArgv, ...args], env);
  }

  static start(client: Client, argv: readonly string[], env = {}): BackgroundClient {
    const [command = '', ...args] = argv;
    const child = startProgram(command, args, {
      env: { ...client.env, ...env },
      cwd: undefined,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    return new BackgroundClient(child);
  }

  write(text: string): void {
    this.#child.stdin.write(text);
  }

  endInput(): void {
    this.#child.stdin.end();
  }

  /** Waits until stdout matches. @throws Error with stdout and stderr if it does not within the time */
  async waitForOutput(pattern: RegExp, timeoutMs = 45_000): Promise<RegExpExecArray> {
    return await waitFor({ what: String(pattern), timeoutMs, everyMs: 20 }, () =>
      Promise.resolve(pattern.exec(this.#stdout) ?? undefined),
    ).catch((error: unknown) => {
      const output = JSON.stringify({ stdout: this.#stdout, stderr: this.#stderr });
      throw new Error(`${String(pattern)} does not match ${output}`, { cause: error });
    });
  }

  /** Sends SIGTERM and waits for the exit. */
  async terminate(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill();
    await exited;
  }
}
