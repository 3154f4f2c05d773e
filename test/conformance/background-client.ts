import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { waitFor } from '../rig/site/wait.ts';
import type { Client } from './client.ts';

/** A client that stays connected in the background, for example for a forward. */
export class Background {
  readonly #child: ChildProcessWithoutNullStreams;
  #stdout = '';
  #stderr = '';

  private constructor(child: ChildProcessWithoutNullStreams) {
    this.#child = child;
    child.stdout.on('data', (chunk: Buffer) => (this.#stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (this.#stderr += chunk.toString()));
    child.stdin.on('error', () => undefined);
  }

  /** Starts ssh with these options and command; its stdin stays open. */
  static ssh(client: Client, args: readonly string[], env = {}): Background {
    return Background.start(client, [...client.sshWords, ...args], env);
  }

  static start(client: Client, words: readonly string[], env = {}): Background {
    const [command = '', ...args] = words;
    return new Background(spawn(command, args, { env: { ...client.env, ...env } }));
  }

  write(text: string): void {
    this.#child.stdin.write(text);
  }

  endInput(): void {
    this.#child.stdin.end();
  }

  /** @throws {Error} with all output, if stdout does not match in time */
  async shows(pattern: RegExp, timeoutMs = 45_000): Promise<RegExpExecArray> {
    return await waitFor({ what: String(pattern), timeoutMs, everyMs: 20 }, () =>
      Promise.resolve(pattern.exec(this.#stdout) ?? undefined),
    ).catch((error: unknown) => {
      const came = JSON.stringify({ stdout: this.#stdout, stderr: this.#stderr });
      throw new Error(`no ${String(pattern)} in ${came}`, { cause: error });
    });
  }

  /** Ends the client with SIGTERM. */
  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = once(this.#child, 'exit');
    this.#child.kill();
    await gone;
  }
}
