import { readdir, readFile, readlink } from 'node:fs/promises';
import { sourceText } from '../../system/program/source-text.ts';
import { assertSuccess } from './expect.ts';
import type { Client } from './client.ts';
import { run } from './run-client.ts';
import { shellWords } from '../../system/text/shell-words.ts';
import { type PipedProcess, startProgram } from '../../system/run-program.ts';
import { waitFor } from './wait-for.ts';

const setWindowSize = sourceText('./set-window-size.py', import.meta.url);

const bracketedPaste = /\x1b\[\?2004[hl]\r?/g;

/** A client that runs on a pty, which script(1) opens. */
export class Terminal {
  readonly #script: PipedProcess;
  readonly #client: string;
  #raw = '';
  #seen = 0;
  #exitCode: number | undefined;

  private constructor(script: PipedProcess, client: string) {
    this.#script = script;
    this.#client = client;
    script.stdout.on('data', (chunk: Buffer) => (this.#raw += chunk.toString()));
    script.stdin.on('error', () => undefined);
    script.once('exit', (code) => (this.#exitCode = code ?? 255));
  }

  /** @param argv a command line on the client machine, for example of ssh */
  static open(
    { env }: Pick<Client, 'env'>,
    argv: readonly string[],
    { rows = 24, columns = 80 }: { rows?: number; columns?: number } = {},
  ): Terminal {
    const command = `stty rows ${rows} columns ${columns}; exec ${shellWords(argv)}`;
    const script = startProgram('script', ['-q', '-f', '-e', '-c', command, '/dev/null'], {
      env: { ...env, SHELL: '/bin/sh' },
      cwd: undefined,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    return new Terminal(script, argv[0] ?? '');
  }

  /** All output so far, without the sequences that switch bracketed paste on and off. */
  get text(): string {
    return this.#raw.replaceAll(bracketedPaste, '');
  }

  /** Types text; `\r` is the Enter key. */
  type(text: string): void {
    this.#script.stdin.write(text);
  }

  /**
   * Waits for text after the end of the previous match.
   *
   * @throws Error with the unmatched output
   */
  async waitForText(pattern: RegExp, timeoutMs = 45_000): Promise<RegExpExecArray> {
    return await waitFor({ what: String(pattern), timeoutMs, everyMs: 20 }, () => {
      const found = pattern.exec(this.text.slice(this.#seen));
      if (found === null) return Promise.resolve(undefined);
      this.#seen += found.index + found[0].length;
      return Promise.resolve(found);
    }).catch((error: unknown) => {
      const rest = JSON.stringify(this.text.slice(this.#seen).slice(-500));
      throw new Error(`${String(pattern)} does not match the terminal's output ${rest}`, {
        cause: error,
      });
    });
  }

  /** Changes the window's size; the kernel sends SIGWINCH to the client. */
  async resize(rows: number, columns: number): Promise<void> {
    const terminal = await this.#device();
    const program = ['-c', setWindowSize, terminal, String(rows), String(columns)];
    assertSuccess('set-window-size.py', await run('python3', program));
  }

  /** Waits for the client to exit. @returns its exit code */
  async waitForExit(timeoutMs = 45_000): Promise<number> {
    return await waitFor({ what: 'the client to exit', timeoutMs, everyMs: 20 }, () =>
      Promise.resolve(this.#exitCode),
    );
  }

  close(): void {
    // After SIGTERM script(1) ends its child.
    if (this.#exitCode === undefined) this.#script.kill('SIGTERM');
  }

  /** Path of the client's pty. */
  async #device(): Promise<string> {
    for (const name of await readdir('/proc')) {
      if (!/^\d+$/.test(name)) continue;
      const stat = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '');
      const [, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (parent === String(this.#script.pid)) return await readlink(`/proc/${name}/fd/0`);
    }
    throw new Error(`${this.#client} is no longer running`);
  }
}
