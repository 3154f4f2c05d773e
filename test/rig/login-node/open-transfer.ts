import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** An sftp(1) that stays connected between two transfers. */
export class OpenTransfer {
  readonly #client: ChildProcess;
  readonly #file: string;

  private constructor(client: ChildProcess, file: string) {
    this.#client = client;
    this.#file = file;
  }

  /**
   * Connects, and transfers the file under the name `before`.
   *
   * @param args options of sftp and the destination
   */
  static async open(args: readonly string[], file: string): Promise<OpenTransfer> {
    const client = spawn('sftp', ['-b', '-', ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
    const transfer = new OpenTransfer(client, file);
    // sftp runs it on this side after the transfer.
    client.stdin.write(`put ${file} before\n!echo transferred\n`);
    for await (const chunk of client.stdout.iterator({
      destroyOnReturn: false,
    }) as AsyncIterable<Buffer>)
      if (/^transferred$/m.test(chunk.toString())) return transfer;
    throw new Error('sftp ended before the file was transferred');
  }

  /** Transfers the file once more, under the name `after`, and disconnects. @throws Error if that fails */
  async close(): Promise<void> {
    const ended = once(this.#client, 'exit');
    this.#client.stdout?.resume();
    this.#client.stdin?.end(`put ${this.#file} after\n`);
    const [code] = (await ended) as [number | null];
    if (code !== 0) throw new Error(`sftp ended with ${code ?? 'a signal'}`);
  }
}
