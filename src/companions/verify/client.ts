import { randomBytes } from 'node:crypto';
import { chmod, copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run, type ClientOptions, type ClientResult } from './run-client.ts';
import { Skip, assertSuccess } from './expect.ts';

/** The SSH server that the cases log in to. */
export interface Target {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** Path of a private key in OpenSSH's format, without a passphrase. */
  readonly key: string;
  /** A line of the message of the day; without it, its cases are skipped. */
  readonly motd?: string | undefined;
  /** The profile that OpenSSH's clients ask for; without it, they ask for none. */
  readonly profile?: string | undefined;
  /** PATH of the clients on this machine. */
  readonly path: string;
  /** Whether all exit codes are tried; default: those that programs use for errors of their own. */
  readonly everyExitCode?: boolean;
}

/** What clients, and the shells and programs that they start, make in the remote home. */
const madeByClients = [
  '.profile',
  '.bashrc',
  '.bash_history',
  '.hushlogin',
  '.ssh',
  '.ssh/authorized_keys',
  '.Xauthority',
  '.ansible',
];

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
    this.remoteDirectory = `berth-verify-${randomBytes(4).toString('hex')}`;
    this.env = { PATH: target.path, HOME: directory, LANG: 'C.UTF-8', TERM: 'xterm-256color' };
  }

  /**
   * Reads the server's host keys and creates both directories.
   *
   * @throws Error with what a client printed, if the key cannot be used or the server does not let the user in
   */
  static async connect(target: Target): Promise<Client> {
    const directory = await mkdtemp(join(tmpdir(), 'berth-verify-'));
    const client = new Client(target, directory);
    try {
      await client.#begin();
    } catch (error) {
      await rm(directory, { recursive: true, force: true });
      throw error;
    }
    return client;
  }

  async #begin(): Promise<void> {
    const { key, port, host } = this.target;
    await mkdir(this.localPath('.ssh'), { mode: 0o700 });
    await copyFile(key, this.localPath('key'));
    await chmod(this.localPath('key'), 0o600);
    await this.writeLocal(
      'key.pub',
      // Without a passphrase, so that nothing is asked.
      await this.localOutput('ssh-keygen', ['-y', '-P', '', '-f', this.localPath('key')]),
    );
    // Its exit code without a server is another in each version.
    const { stdout } = await this.runLocal('ssh-keyscan', ['-p', String(port), host]);
    if (stdout.length === 0) throw new Error('there is no SSH server');
    await this.writeLocal('.ssh/known_hosts', stdout);
    const absent = `for each in ${madeByClients.join(' ')}; do test -e $each || echo $each; done`;
    const directory = this.remoteDirectory;
    assertSuccess('ssh', await this.ssh([`mkdir ${directory} && ${absent} >${directory}/absent`]));
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
    const { profile } = this.target;
    return [
      ...(profile === undefined ? [] : ['-o', `SetEnv=BERTH_PROFILE=${profile}`]),
      '-F',
      '/dev/null',
      '-o',
      `IdentityFile=${this.localPath('key')}`,
      '-o',
      'IdentitiesOnly=yes',
      '-o',
      'BatchMode=yes',
      '-o',
      `UserKnownHostsFile=${this.localPath('.ssh/known_hosts')}`,
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

  /** Runs `work`, which may change a file in the remote home, and gives the file its content again. @throws Error if that fails */
  async restoring(file: string, work: () => Promise<void>): Promise<void> {
    const kept = `${this.remoteDirectory}/kept-${file.replaceAll('/', '-')}`;
    await this.remoteOutput(`if test -e ${file}; then cp ${file} ${kept}; else : >${kept}; fi`);
    try {
      await work();
    } finally {
      // What was not there is removed at the end.
      const restore = `test ! -e ${file} || cat ${kept} >${file}`;
      assertSuccess(`restoring ~/${file}`, await this.ssh([restore]));
    }
  }

  /** Removes both directories, and what the clients made in the remote home. @throws Error with what remains */
  async cleanUp(): Promise<void> {
    const directory = this.remoteDirectory;
    // In .ssh may be what the user put there meanwhile.
    const remove = `a=$(cat ${directory}/absent); rm -rf $(echo "$a" | grep -vx .ssh) ${directory} && case $a in *.ssh*) rmdir .ssh 2>/dev/null; esac; test ! -e ${directory}`;
    const { exitCode, stderr } = await this.ssh([remove]);
    await rm(this.localDirectory, { recursive: true, force: true });
    if (exitCode !== 0)
      throw new Error(`~/${directory} of ${this.destination} could not be removed: ${stderr}`);
  }
}
