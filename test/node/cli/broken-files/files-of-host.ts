import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { nodeOptionsFor } from '../../../../scripts/outputs.ts';
import { singleFile } from '../../../../scripts/single-file.ts';
import { run } from '../../../../src/companions/verify/run-client.ts';
import type { Result, Work } from './run-each.ts';

/** What commands keep beside what they were asked for: caches, locks and records of their own. */
const kept =
  /\/(?:settings\.json|kubeconfigs\/.*|.*\.lock|berth\/(?:swept|reap-round\.json)|berth-ssh\/images\/.*)$/;

export interface Ran extends Omit<Result, 'name'> {
  /** Standard output and standard error. */
  readonly output: string;
}

/** The files of a host, laid over those of this machine. */
export class FilesOfHost {
  readonly #directory: string;
  readonly #programs: string;

  private constructor(directory: string, programs: string) {
    this.#directory = directory;
    this.#programs = programs;
  }

  /** @param programs the directory in which Berth is installed */
  static async make(
    files: Readonly<Record<string, string>>,
    programs: string,
  ): Promise<FilesOfHost> {
    const directory = await mkdtemp(join(tmpdir(), 'berth-broken-files-'));
    for (const path of ['/etc', '/root', '/var/lib', '/run'])
      await mkdir(join(directory, path), { recursive: true });
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(directory, path)), { recursive: true });
      const mode = /^\/root\/|secret|password|\/cache\//.test(path) ? 0o600 : 0o644;
      await writeFile(join(directory, path), text, { mode: text.startsWith('#!') ? 0o755 : mode });
    }
    await run('chown', ['-R', '5001:5001', join(directory, 'var/lib/alice')]);
    const { text } = await singleFile('test/node/cli/broken-files/run-each.ts', {
      ...{ banner: '', define: { BERTH_BUILD: '"test"', BERTH_PREFIX: JSON.stringify(programs) } },
    });
    await writeFile(join(directory, 'run-each'), text);
    return new FilesOfHost(directory, programs);
  }

  /**
   * Runs a shell command as root in the directory of Berth's programs, which is in PATH, too: once for each way to break
   * a file, on its own copy of the files.
   *
   * @param ways shell commands that break the file `$f`, by name
   */
  async run(
    command: string,
    file: string,
    ways: Readonly<Record<string, string>>,
  ): Promise<ReadonlyMap<string, Ran>> {
    const ran = new Map<string, Ran>();
    for (;;) {
      const left = Object.entries(ways).filter(([name]) => !ran.has(name));
      if (left.length === 0) return ran;
      await this.#runSome({ command, file, ways: left }, ran);
    }
  }

  /** Up to the run that ends the process that all share, as a crash does. */
  async #runSome(
    wanted: Pick<Work, 'command' | 'file' | 'ways'>,
    ran: Map<string, Ran>,
  ): Promise<void> {
    const directory = await mkdtemp(join(this.#directory, 'run-'));
    const work: Work = { ...wanted, host: this.#directory, directory, programs: this.#programs };
    const node = [join(this.#programs, 'node'), ...nodeOptionsFor('src/cli/berth.ts')];
    const { exitCode, stdout, stderr } = await run(
      'unshare',
      [
        ...['--mount', '--propagation', 'private', 'timeout', '-k', '1', '120', ...node],
        ...[join(this.#directory, 'run-each'), JSON.stringify(work)],
      ],
      {
        timeout: 130_000,
        env: { HOME: '/root', PATH: `${this.#programs}:/usr/sbin:/usr/bin:/sbin:/bin` },
      },
    );
    const read = (name: string): Promise<string> =>
      readFile(join(directory, name), 'utf8').catch(() => '');
    for (const line of (await read('results')).trim().split('\n').filter(Boolean)) {
      const { name, written, ...status } = JSON.parse(line) as Result;
      const output = await read(`${name}.output`);
      ran.set(name, { ...status, output, written: written.filter((one) => !kept.test(one)) });
    }
    const [unfinished] = wanted.ways.find(([name]) => !ran.has(name)) ?? [];
    if (unfinished !== undefined) {
      const output = `${await read(`${unfinished}.output`)}${stdout.toString()}${stderr}`;
      const status = exitCode === undefined || exitCode === 124 ? {} : { status: exitCode };
      ran.set(unfinished, { ...status, output, written: [] });
    }
    await rm(directory, { recursive: true, force: true });
  }

  async remove(): Promise<void> {
    await rm(this.#directory, { recursive: true, force: true });
  }
}
