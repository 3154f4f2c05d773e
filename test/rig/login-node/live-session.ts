import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { inNetwork } from './host-namespaces.ts';

/** An SSH server as clients see it: a login node, or a balancer. */
export interface SshServer {
  readonly address: string;
  readonly port: number;
  /** Path of the network namespace of the clients; undefined: the machine's. */
  readonly network: string | undefined;
  /** Command line that runs another one where the clients are; default: in `network`. */
  readonly enter?: readonly string[];
  /** Options for OpenSSH's clients with the user's key and the host's key, without port and user. */
  clientOptions(user: string): string[];
}

/** An SSH client that runs until the test ends it. */
export class LiveSession {
  readonly client: ChildProcess;
  readonly #exit: Promise<unknown>;
  readonly #close: Promise<unknown>;
  #output = '';
  #stdout = '';

  private constructor(client: ChildProcess) {
    this.client = client;
    this.#exit = once(client, 'exit');
    this.#close = once(client, 'close');
    client.stdout?.on('data', (text: Buffer) => {
      this.#output += text.toString();
      this.#stdout += text.toString('latin1');
    });
    client.stderr?.on('data', (text: Buffer) => (this.#output += text.toString()));
    client.stdin?.on('error', () => undefined);
  }

  static start(host: SshServer, user: string, args: readonly string[]): LiveSession {
    const destination = ['-p', String(host.port), `${user}@${host.address}`];
    const options = [...host.clientOptions(user), '-o', 'ConnectionAttempts=1'];
    const argv = ['ssh', ...options, ...destination, ...args];
    const [file = '', ...words] =
      host.enter === undefined ? inNetwork(host.network, argv) : [...host.enter, ...argv];
    return new LiveSession(spawn(file, words, { stdio: ['pipe', 'pipe', 'pipe'] }));
  }

  /** Starts a session whose command prints `ready` and then runs `command`; waits for `ready`. */
  static async startReady(host: SshServer, user: string, command: string): Promise<LiveSession> {
    const session = LiveSession.start(host, user, [`echo ready; ${command}`]);
    await session.waitForOutput('ready');
    return session;
  }

  /** All output on stdout and stderr so far. */
  get output(): string {
    return this.#output;
  }

  /** Its bytes, as Latin-1. */
  get stdout(): string {
    return this.#stdout;
  }

  async waitForOutput(text: string): Promise<void> {
    const end = performance.now() + 90_000;
    while (!this.#output.includes(text)) {
      if (performance.now() > end || this.client.exitCode !== null)
        throw new Error(`the session did not print ${text}: ${this.#output}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Waits until the client exits. @returns its exit code */
  async exitCode(): Promise<number | null> {
    await this.#exit;
    return this.client.exitCode;
  }

  /** Waits until the client has exited and its output has been read to its end. @returns the whole output */
  async outputAtEnd(): Promise<string> {
    await this.#close;
    return this.#output;
  }

  /** Kills the client without a disconnect message; the kernel closes its TCP connection. */
  async kill(): Promise<void> {
    this.client.kill('SIGKILL');
    await this.#exit;
  }

  /** Stops the client, as if its network were gone: it does not answer, and its TCP connection stays open. */
  freeze(): void {
    this.client.kill('SIGSTOP');
  }
}
