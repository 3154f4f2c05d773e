import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { run } from '../../../rig/login-node/run-program.ts';

/** Each run has its own copy of these directories: what it writes there is thrown away. */
const directories = ['/etc', '/root', '/var/lib', '/run'];

/** What commands keep beside what they were asked for: caches, locks and records of their own. */
const kept =
  /\/(?:settings\.json|kubeconfigs\/.*|.*\.lock|berth\/(?:swept|reap-round\.json)|berth-ssh\/images\/.*)$/;

export interface Ran {
  /** Undefined if the command did not end within 20 s. */
  readonly status: number | undefined;
  /** Standard output and standard error. */
  readonly output: string;
  /** The files that it wrote. */
  readonly written: readonly string[];
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
    for (const path of directories) await mkdir(join(directory, path), { recursive: true });
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(directory, path)), { recursive: true });
      const mode = /^\/root\/|secret|password/.test(path) ? 0o600 : 0o644;
      await writeFile(join(directory, path), text, { mode });
    }
    return new FilesOfHost(directory, programs);
  }

  /**
   * Runs a shell command as root in the directory of Berth's programs, which is in PATH, too.
   *
   * @param breaking shell commands that run before it and break the file `$f`
   */
  async run(command: string, file: string, breaking: string): Promise<Ran> {
    const copy = await mkdtemp(join(this.#directory, 'run-'));
    const result = await run('unshare', [
      ...['--mount', '--propagation', 'private', 'bash', '--norc', '-euc'],
      ...[this.#script(copy), 'bash', file, breaking, command],
    ]);
    const read = (name: string) => readFile(join(copy, name), 'utf8').catch(() => '');
    const [status, written] = [await read('status'), await read('written')];
    await rm(copy, { recursive: true, force: true });
    const output = `${result.stdout.toString()}${result.stderr}`;
    if (status === '') throw new Error(`the command was not run: ${output}`);
    return {
      output,
      ...{ status: status.startsWith('124') ? undefined : Number(status) },
      written: written.split('\n').filter((line) => line !== '' && !kept.test(line)),
    };
  }

  #script(copy: string): string {
    const mounts = directories.map((path) => {
      const own = `${copy}/copies${path}`;
      const layers = `lowerdir=${this.#directory}${path}:${path},upperdir=${own}/upper,workdir=${own}/work`;
      return `mkdir -p ${own}/upper ${own}/work; mount -t overlay overlay -o ${layers} ${path}`;
    });
    return `umask 022; ${mounts.join('\n')}
      export f="$1" PATH=${this.#programs}:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
      eval "$2"
      touch ${copy}/before
      cd ${this.#programs}
      timeout -k 1 20 bash --norc -c "$3" </dev/null || status=$?
      echo "\${status:-0}" >${copy}/status
      find ${copy}/copies -newer ${copy}/before ! -type d -path '*/upper/*' >${copy}/written`;
  }

  async remove(): Promise<void> {
    await rm(this.#directory, { recursive: true, force: true });
  }
}
