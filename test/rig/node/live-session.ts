import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { SshHost } from './ssh-host.ts';

/** A connection whose client runs until the test ends it. */
export class LiveSession {
  readonly client: ChildProcess;
  readonly #exit: Promise<unknown>;
  #said = '';

  private constructor(client: ChildProcess) {
    this.client = client;
    this.#exit = once(client, 'exit');
    client.stdout?.on('data', (text: Buffer) => (this.#said += text.toString()));
    client.stderr?.on('data', (text: Buffer) => (this.#said += text.toString()));
    client.stdin?.on('error', () => undefined);
  }

  static begin(host: SshHost, user: string, args: readonly string[]): LiveSession {
    const destination = ['-p', String(host.port), `${user}@127.0.0.1`];
    const options = [...host.clientOptions(user), '-o', 'ConnectionAttempts=1'];
    return new LiveSession(
      spawn('ssh', [...options, ...destination, ...args], { stdio: ['pipe', 'pipe', 'pipe'] }),
    );
  }

  /** Starts a client and waits until its command, `sh -c`, has printed `ready` in the container. */
  static async ready(host: SshHost, user: string, command: string): Promise<LiveSession> {
    const session = LiveSession.begin(host, user, [`echo ready; ${command}`]);
    await session.says('ready');
    return session;
  }

  /** All of standard output and standard error so far. */
  get said(): string {
    return this.#said;
  }

  async says(text: string): Promise<void> {
    const end = performance.now() + 30_000;
    while (!this.#said.includes(text)) {
      if (performance.now() > end || this.client.exitCode !== null)
        throw new Error(`the session did not say ${text}: ${this.#said}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Waits until the client ends by itself. @returns Its exit code. */
  async ended(): Promise<number | null> {
    await this.#exit;
    return this.client.exitCode;
  }

  /** Kills the client without a message to sshd; the kernel closes its connection. */
  async cut(): Promise<void> {
    this.client.kill('SIGKILL');
    await this.#exit;
  }

  /** Stops the client, as in a network failure: nothing answers, and nothing is closed. */
  vanish(): void {
    this.client.kill('SIGSTOP');
  }
}
