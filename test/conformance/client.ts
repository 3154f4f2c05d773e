import { randomBytes } from 'node:crypto';
import { chmod, copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run, type ClientOptions, type ClientResult } from '../rig/login-node/run-program.ts';
import { Skip, assertSuccess } from './case.ts';

/** The SSH server that the cases log in to. */
export interface Target {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** Path of a private key in OpenSSH's format, without a passphrase. */
  readonly key: string;
  /** A line of the message of the day; default: the first line of the session's /etc/motd. */
  readonly motd?: string;
}

/** A user's client machine: a local directory that serves as its home, and a directory in the remote home. */
export class Client {
  readonly target: Target;
  /** The home of the clients that run here. */
  readonly localDirectory: string;
  /** Relative to the remote home. */
  readonly remoteDirectory: string;
  /** Environment of every client, without the caller's agent, display and configuration. */
  readonly env: Readonly<Record<string, string>>;

  /** Of the program that ended last, for the message of a case that fails. */
  lastResult: ClientResult | undefined;

  /** Programs that were looked for in the session, and whether they exist. */
  readonly #programs = new Map<string, boolean>();

  private constructor(target: Target, directory: string) {
    this.target = target;
    this.localDirectory = directory;
    this.remoteDirectory = `conformance-${randomBytes(4).toString('hex')}`;
    const { PATH = '/usr/bin:/bin' } = process.env;
    this.env = { PATH, HOME: directory, LANG: 'C.UTF-8', TERM: 'xterm-256color' };
  }

  /** Reads the server's host keys and creates both directories. */
  static async connect(target: Target): Promise<Client> {
    const directory = await mkdtemp(join(tmpdir(), 'berth-conformance-'));
    const client = new Client(target, directory);
    await mkdir(client.localPath('.ssh'), { mode: 0o700 });
    await copyFile(target.key, client.localPath('key'));
    await chmod(client.localPath('key'), 0o600);
    await client.writeLocal(
      'key.pub',
      await client.localOutput('ssh-keygen', ['-y', '-f', client.localPath('key')]),
    );
    await client.writeLocal(
      '.ssh/known_hosts',
      await client.localOutput('ssh-keyscan', ['-p', String(target.port), target.host]),
    );
    assertSuccess('mkdir', await client.ssh([`mkdir -p ${client.remoteDirectory}`]));
    return client;
  }

  /** Path of a file in the local directory. */
  localPath(name: string): string {
    return join(this.localDirectory, name);
  }

  get destination(): string {
    return `${this.target.user}@${this.target.host}`;
  }

  /** Options that ssh, scp and sftp have in common; the port option differs between them. */
  get sshOptions(): string[] {
    return [
      ...[
        '-F',
        '/dev/null',
        '-o',
        `IdentityFile=${this.localPath('key')}`,
        '-o',
        'IdentitiesOnly=yes',
      ],
      ...['-o', 'BatchMode=yes', '-o', `UserKnownHostsFile=${this.localPath('.ssh/known_hosts')}`],
    ];
  }

  /** The arguments of ssh up to the destination; further options and the command can follow. */
  get sshArgv(): string[] {
    return ['ssh', ...this.sshOptions, '-p', String(this.target.port), this.destination];
  }

  /** Runs OpenSSH's client; `args` are further options, then the command. */
  ssh(args: readonly string[], options: ClientOptions = {}): Promise<ClientResult> {
    const [command = 'ssh', ...sshArgs] = this.sshArgv;
    return this.runLocal(command, [...sshArgs, ...args], options);
  }

  /** Runs a command in a session. @returns its stdout @throws Error if it fails */
  async remoteOutput(command: string): Promise<string> {
    return assertSuccess(command, await this.ssh([command])).stdout.toString();
  }

  /** Runs a program on the client machine. */
  async runLocal(
    command: string,
    args: readonly string[],
    options: ClientOptions = {},
  ): Promise<ClientResult> {
    const env = { ...this.env, ...options.env };
    this.lastResult = await run(command, args, { timeout: 60_000, ...options, env });
    return this.lastResult;
  }

  /** Runs a program on the client machine. @returns its stdout @throws Error if it fails */
  async localOutput(command: string, args: readonly string[]): Promise<string> {
    return assertSuccess(command, await this.runLocal(command, args)).stdout.toString();
  }

  /** Writes a file in the local directory. @returns its path */
  async writeLocal(name: string, content: string | Buffer): Promise<string> {
    await writeFile(this.localPath(name), content, { mode: 0o600 });
    return this.localPath(name);
  }

  /** @throws Skip if the session lacks one of the programs; Error if the session cannot be asked */
  async requireRemotePrograms(...programs: string[]): Promise<void> {
    const unknown = programs.filter((program) => !this.#programs.has(program));
    if (unknown.length > 0) {
      const ask = `for each in ${unknown.join(' ')}; do command -v $each >/dev/null; echo $? $each; done`;
      for (const line of (await this.remoteOutput(ask)).trim().split('\n')) {
        const [status, program = ''] = line.split(' ');
        this.#programs.set(program, status === '0');
      }
    }
    const missing = programs.filter((program) => this.#programs.get(program) !== true);
    if (missing.length > 0) throw new Skip(`the session lacks ${missing.join(' ')}`);
  }

  async cleanUp(): Promise<void> {
    await this.ssh([`rm -rf ${this.remoteDirectory}`]);
    await rm(this.localDirectory, { recursive: true, force: true });
  }
}
