import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { execa } from 'execa';
import { waitFor } from '../rig/site/wait.ts';
import type { Client } from './client.ts';

const bracketedPaste = /\x1b\[\?2004[hl]\r?/g;

/** A client in a terminal. script(1) creates the pty, so resizes and keys are real. */
export class Terminal {
  readonly #script: ChildProcessWithoutNullStreams;
  readonly #client: string;
  #raw = '';
  #seen = 0;
  #exitCode: number | undefined;

  private constructor(script: ChildProcessWithoutNullStreams, client: string) {
    this.#script = script;
    this.#client = client;
    script.stdout.on('data', (chunk: Buffer) => (this.#raw += chunk.toString()));
    script.stdin.on('error', () => undefined);
    script.once('exit', (code) => (this.#exitCode = code ?? 255));
  }

  /** @param words A local command line, for example of ssh. */
  static open(
    { env }: Pick<Client, 'env'>,
    words: readonly string[],
    { rows = 24, columns = 80 }: { rows?: number; columns?: number } = {},
  ): Terminal {
    const quoted = words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
    const command = `stty rows ${rows} columns ${columns}; exec ${quoted}`;
    const script = spawn('script', ['-q', '-f', '-e', '-c', command, '/dev/null'], {
      env: { ...env, SHELL: '/bin/sh' },
    });
    return new Terminal(script, words[0] ?? '');
  }

  /** All output so far, without readline's codes for bracketed paste. */
  get text(): string {
    return this.#raw.replaceAll(bracketedPaste, '');
  }

  /** Types text; `\r` is the Enter key. */
  type(text: string): void {
    this.#script.stdin.write(text);
  }

  /**
   * Waits for text in output that has not been matched before.
   *
   * @throws {Error} with the output instead
   */
  async shows(pattern: RegExp, timeoutMs = 45_000): Promise<RegExpExecArray> {
    return await waitFor({ what: String(pattern), timeoutMs, everyMs: 20 }, () => {
      const found = pattern.exec(this.text.slice(this.#seen));
      if (found === null) return Promise.resolve(undefined);
      this.#seen += found.index + found[0].length;
      return Promise.resolve(found);
    }).catch((error: unknown) => {
      const rest = JSON.stringify(this.text.slice(this.#seen).slice(-500));
      throw new Error(`the terminal shows ${rest} and not ${String(pattern)}`, { cause: error });
    });
  }

  /** Changes the size of the window; the kernel sends SIGWINCH to the client. */
  async resize(rows: number, columns: number): Promise<void> {
    const terminal = await this.#device();
    await execa('stty', ['-F', terminal, 'rows', String(rows), 'columns', String(columns)]);
  }

  /** @returns The client's exit code. */
  async ended(timeoutMs = 45_000): Promise<number> {
    return await waitFor({ what: 'the client to end', timeoutMs, everyMs: 20 }, () =>
      Promise.resolve(this.#exitCode),
    );
  }

  close(): void {
    // After SIGTERM script(1) ends its child.
    if (this.#exitCode === undefined) this.#script.kill('SIGTERM');
  }

  /** The pty of the client. */
  async #device(): Promise<string> {
    for (const name of await readdir('/proc')) {
      if (!/^\d+$/.test(name)) continue;
      const stat = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '');
      const [, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (parent === String(this.#script.pid)) return await readlink(`/proc/${name}/fd/0`);
    }
    throw new Error(`${this.#client} does not run any more`);
  }
}
