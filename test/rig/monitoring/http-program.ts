import { execa, type ResultPromise } from 'execa';
import { waitFor } from '../wait-for.ts';

/** A program that serves HTTP on loopback until `stop`. */
export class HttpProgram {
  readonly url: string;
  readonly #process: ResultPromise<{ reject: false; all: true }>;

  private constructor(url: string, process: ResultPromise<{ reject: false; all: true }>) {
    this.url = url;
    this.#process = process;
  }

  /**
   * Starts it and waits until it answers.
   *
   * @param url without a slash at its end
   * @throws Error with its output if it ends before
   */
  static async start(argv: readonly string[], url: string, path: string): Promise<HttpProgram> {
    const [file = '', ...args] = argv;
    const options = { reject: false, all: true, maxBuffer: 1_000_000 } as const;
    const program = new HttpProgram(url, execa(file, args, options));
    const ended = program.#process.then(({ all }) => {
      throw new Error(`${argv.join(' ')} has ended: ${all}`);
    });
    const answers = waitFor({ what: file, timeoutMs: 60_000 }, async () => {
      const answer = await fetch(url + path).catch(() => undefined);
      return answer?.ok === true ? true : undefined;
    });
    await Promise.race([answers, ended]);
    ended.catch(() => undefined);
    return program;
  }

  async stop(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.#process;
  }
}
