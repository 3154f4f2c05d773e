import { randomBytes } from 'node:crypto';
import { chmod, copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run, type ClientOptions, type ClientResult } from '../rig/node/client.ts';
import { Skip, succeeded } from './case.ts';

/** Where the suite logs in. What runs behind it is none of its business. */
export interface Target {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** A private key in OpenSSH's format, without a passphrase. */
  readonly key: string;
  /** A line of the message of the day; the first of /etc/motd behind the host where not said. */
  readonly motd?: string;
}

/** A user at a machine of their own, with a folder there and one in the home that they log in to. */
export class Client {
  readonly target: Target;
  /** On the machine of the clients. */
  readonly folder: string;
  /** In the home behind the host; a name relative to it. */
  readonly remote: string;
  /** Of every client: nothing of the caller's agent, display or configuration. */
  readonly env: Readonly<Record<string, string>>;

  /** Whether the session has them, as far as it was asked. */
  readonly #programs = new Map<string, boolean>();

  private constructor(target: Target, folder: string) {
    this.target = target;
    this.folder = folder;
    this.remote = `conformance-${randomBytes(4).toString('hex')}`;
    const { PATH = '/usr/bin:/bin' } = process.env;
    this.env = { PATH, HOME: folder, LANG: 'C.UTF-8', TERM: 'xterm-256color' };
  }

  /** Learns the host's keys and makes both folders. */
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

  /** Path in our own folder. */
  path(name: string): string {
    return join(this.folder, name);
  }

  get destination(): string {
    return `${this.target.user}@${this.target.host}`;
  }

  /** `-o` and other options that all of OpenSSH's clients understand; the port is none of them. */
  get options(): string[] {
    return [
      ...['-F', '/dev/null', '-o', `IdentityFile=${this.path('key')}`, '-o', 'IdentitiesOnly=yes'],
      ...['-o', 'BatchMode=yes', '-o', `UserKnownHostsFile=${this.path('.ssh/known_hosts')}`],
    ];
  }

  /** The words of ssh up to its own options and the command. */
  get sshWords(): string[] {
    return ['ssh', ...this.options, '-p', String(this.target.port), this.destination];
  }

  /** OpenSSH's client; options may come before the command in `args`. */
  ssh(args: readonly string[], options: ClientOptions = {}): Promise<ClientResult> {
    const [command = 'ssh', ...words] = this.sshWords;
    return this.run(command, [...words, ...args], options);
  }

  /** A command's output behind the host. @throws Error when it fails */
  async output(command: string): Promise<string> {
    return succeeded(command, await this.ssh([command])).stdout.toString();
  }

  /** Any program on our own machine. */
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

  /** A program's output on our own machine. @throws Error when it fails */
  async local(command: string, args: readonly string[]): Promise<string> {
    return succeeded(command, await this.run(command, args)).stdout.toString();
  }

  /** Writes a file of our own. @returns its path */
  async keep(name: string, content: string | Buffer): Promise<string> {
    await writeFile(this.path(name), content, { mode: 0o600 });
    return this.path(name);
  }

  /** @throws Skip when the session has no such program; Error when the session does not say */
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
