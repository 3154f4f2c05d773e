import { randomBytes } from 'node:crypto';
import { chmod, copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run, type ClientOptions, type ClientResult } from '../rig/node/client.ts';
import { Skip, succeeded } from './case.ts';

/** Where the suite logs in. It makes no assumption about what serves the sessions. */
export interface Target {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** Path of a private key in OpenSSH's format, without a passphrase. */
  readonly key: string;
  /** A line of the message of the day; by default the first line of /etc/motd in a session. */
  readonly motd?: string;
}

/** A user on their own machine, with a directory there and one in the remote home. */
export class Client {
  readonly target: Target;
  /** Directory on the machine of the clients. */
  readonly folder: string;
  /** Directory in the remote home, relative to it. */
  readonly remote: string;
  /** Environment of every client: no agent, display or configuration of the caller. */
  readonly env: Readonly<Record<string, string>>;

  /** Which programs the session has, as far as that was checked. */
  readonly #programs = new Map<string, boolean>();

  private constructor(target: Target, folder: string) {
    this.target = target;
    this.folder = folder;
    this.remote = `conformance-${randomBytes(4).toString('hex')}`;
    const { PATH = '/usr/bin:/bin' } = process.env;
    this.env = { PATH, HOME: folder, LANG: 'C.UTF-8', TERM: 'xterm-256color' };
  }

  /** Reads the host's keys and creates both directories. */
  static async at(target: Target): Promise<Client> {
    const folder = await mkdtemp(join(tmpdir(), 'berth-conformance-'));
    const client = new Client(target, folder);
    await mkdir(client.path('.ssh'), { mode: 0o700 });
    await copyFile(target.key, client.path('key'));
    await chmod(client.path('key'), 0o600);
    await client.keep(
      'key.pub',
      await client.local('ssh-keygen', ['-y', '-f', client.path('key')]),
    );
    await client.keep(
      '.ssh/known_hosts',
      await client.local('ssh-keyscan', ['-p', String(target.port), target.host]),
    );
    succeeded('mkdir', await client.ssh([`mkdir -p ${client.remote}`]));
    return client;
  }

  /** Path in the local directory. */
  path(name: string): string {
    return join(this.folder, name);
  }

  get destination(): string {
    return `${this.target.user}@${this.target.host}`;
  }

  /** `-o` and other options that all clients of OpenSSH accept; the option for the port differs. */
  get options(): string[] {
    return [
      ...['-F', '/dev/null', '-o', `IdentityFile=${this.path('key')}`, '-o', 'IdentitiesOnly=yes'],
      ...['-o', 'BatchMode=yes', '-o', `UserKnownHostsFile=${this.path('.ssh/known_hosts')}`],
    ];
  }

  /** The arguments of ssh before further options and the command. */
  get sshWords(): string[] {
    return ['ssh', ...this.options, '-p', String(this.target.port), this.destination];
  }

  /** Runs OpenSSH's client; `args` may have options before the command. */
  ssh(args: readonly string[], options: ClientOptions = {}): Promise<ClientResult> {
    const [command = 'ssh', ...words] = this.sshWords;
    return this.run(command, [...words, ...args], options);
  }

  /** Output of a remote command. @throws {Error} if it fails */
  async output(command: string): Promise<string> {
    return succeeded(command, await this.ssh([command])).stdout.toString();
  }

  /** Runs a local program. */
  run(
    command: string,
    args: readonly string[],
    options: ClientOptions = {},
  ): Promise<ClientResult> {
    return run(command, args, {
      timeout: 60_000,
      ...options,
      env: { ...this.env, ...options.env },
    });
  }

  /** Output of a local program. @throws {Error} if it fails */
  async local(command: string, args: readonly string[]): Promise<string> {
    return succeeded(command, await this.run(command, args)).stdout.toString();
  }

  /** Writes a local file. @returns Its path. */
  async keep(name: string, content: string | Buffer): Promise<string> {
    await writeFile(this.path(name), content, { mode: 0o600 });
    return this.path(name);
  }

  /** @throws {Skip} if the session does not have this program; {Error} if that could not be checked */
  async needsRemote(...programs: string[]): Promise<void> {
    const unknown = programs.filter((program) => !this.#programs.has(program));
    if (unknown.length > 0) {
      const ask = `for each in ${unknown.join(' ')}; do command -v $each >/dev/null; echo $? $each; done`;
      for (const line of (await this.output(ask)).trim().split('\n')) {
        const [status, program = ''] = line.split(' ');
        this.#programs.set(program, status === '0');
      }
    }
    const missing = programs.filter((program) => this.#programs.get(program) !== true);
    if (missing.length > 0) throw new Skip(`the session has no ${missing.join(' ')}`);
  }

  async end(): Promise<void> {
    await this.ssh([`rm -rf ${this.remote}`]);
    await rm(this.folder, { recursive: true, force: true });
  }
}
