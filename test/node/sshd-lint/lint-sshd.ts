import { type ChildProcess, spawn } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { execa, type Options } from 'execa';
import { freePorts } from '../../rig/free-ports.ts';
import { waitFor } from '../../rig/wait-for.ts';
import type { LintHost } from './lint-host.ts';

export interface SshResult {
  readonly exitCode: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

/** A real sshd of a `LintHost` on a loopback port, with its clients. */
export class LintSshd {
  readonly port: number;
  private readonly process: ChildProcess;
  private readonly host: LintHost;

  private constructor(host: LintHost, port: number, process: ChildProcess) {
    this.host = host;
    this.port = port;
    this.process = process;
  }

  static async start(host: LintHost, config: string): Promise<LintSshd> {
    const { sshd: port } = await freePorts(['sshd']);
    const listen = `ListenAddress 127.0.0.1\nPort ${port}\nPidFile none\nLogLevel VERBOSE\n`;
    const file = await host.write('sshd_config.live', `${listen}${config}`);
    await rm(host.path('sshd.log'), { force: true });
    const { command, words } = host.inside([
      ...['/usr/sbin/sshd', '-D', '-f', file, '-E', host.path('sshd.log')],
    ]);
    // Nothing forks before sshd, so this is the PID of sshd.
    const process = spawn(command, words, { stdio: 'ignore', env: { PATH: '/usr/sbin:/usr/bin' } });
    const sshd = new LintSshd(host, port, process);
    await waitFor(
      {
        what: `sshd on port ${port}`,
        timeoutMs: 20_000,
        everyMs: 20,
        alive: () =>
          process.exitCode === null
            ? Promise.resolve()
            : Promise.reject(new Error(`sshd ended with ${process.exitCode}`)),
      },
      () => greeting(port),
    );
    return sshd;
  }

  /** Runs ssh(1) as this user, without prompts. */
  ssh(user: string, args: readonly string[], options: Options = {}): Promise<SshResult> {
    return this.client('ssh', ['-p', `${this.port}`], user, args, options);
  }

  /** Runs `sftp -b -` with these commands. */
  sftp(user: string, commands: string): Promise<SshResult> {
    return this.client('sftp', ['-b', '-', '-P', `${this.port}`], user, [], { input: commands });
  }

  private async client(
    command: string,
    first: readonly string[],
    user: string,
    args: readonly string[],
    options: Options,
  ): Promise<SshResult> {
    const settings = [
      ...['BatchMode=yes', 'StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null'],
      ...['LogLevel=ERROR', 'IdentitiesOnly=yes', 'ConnectTimeout=10'],
    ].flatMap((one) => ['-o', one]);
    const key = this.host.path(`keys/${user}`);
    const { exitCode, stdout, stderr } = await execa(
      command,
      [...first, '-F', 'none', '-i', key, ...settings, ...destination(command, user, args)],
      { reject: false, input: '', timeout: 20_000, ...options },
    );
    return { exitCode, stdout: String(stdout), stderr: String(stderr) };
  }

  /** Waits until every connection has closed: PAM closes a session after its client has ended. */
  async idle(): Promise<void> {
    const file = `/proc/${this.process.pid}/task/${this.process.pid}/children`;
    await waitFor(
      { what: 'the end of all connections', timeoutMs: 60_000, everyMs: 20 },
      async () => ((await readFile(file, 'utf8')).trim() === '' ? true : undefined),
    ).catch(async (error: unknown) => {
      const { stdout } = await execa('ps', ['-e', '--forest', '-o', 'pid,ppid,stat,wchan:25,args']);
      const log = await readFile(this.host.path('sshd.log'), 'utf8');
      throw new Error(`${log}\n${stdout}`, { cause: error });
    });
  }

  /** After the last connection, whose hooks still write to the host. */
  async stop(): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    await this.idle();
    const ended = new Promise((resolve) => this.process.once('exit', resolve));
    this.process.kill('SIGTERM');
    await ended;
  }
}

let running: LintSshd | undefined;

/** Starts sshd with this configuration, after it has stopped the one before. */
export async function serve(host: LintHost, config: string): Promise<LintSshd> {
  await stopServing();
  running = await LintSshd.start(host, config);
  return running;
}

/** Stops what `serve` started. */
export async function stopServing(): Promise<void> {
  await running?.stop();
  running = undefined;
}

/** Options of ssh end at `--`, after which the command follows; without `--` there are no options. */
function destination(command: string, user: string, args: readonly string[]): string[] {
  const there = `${user}@127.0.0.1`;
  if (command !== 'ssh') return [there];
  const at = args.indexOf('--');
  return [...args.slice(0, Math.max(at, 0)), there, '--', ...args.slice(at + 1)];
}

/** The first bytes that a server on a loopback port sends; undefined if it sends none. */
export function greeting(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.setTimeout(10_000, () => socket.destroy());
    socket.once('data', (bytes) => {
      resolve(bytes.toString('latin1'));
      socket.destroy();
    });
    socket.once('error', () => resolve(undefined));
    socket.once('close', () => resolve(undefined));
  });
}
