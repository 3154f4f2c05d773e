import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type ClientResult, run } from '../../../src/companions/verify/run-client.ts';
import { SshHost } from '../../rig/login-node/ssh-host.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { waitFor } from '../../rig/wait-for.ts';

/** A result of `berth`, with its output as text. */
export interface BerthResult {
  readonly exitCode: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

/** A login node on which `berth sshd` makes further sshds; its own is the host's sshd of the issue. */
export class KindHost {
  readonly host: SshHost;
  readonly #started = new Map<string, ChildProcess>();

  private constructor(host: SshHost) {
    this.host = host;
  }

  static async start(etc: Readonly<Record<string, string>> = {}): Promise<KindHost> {
    const host = await SshHost.start({
      ...{ mode: 'plain', images: false, users: { ada: ['berth'] }, etc },
    });
    const node = new KindHost(host);
    // As docs/ssh-sshd.md says.
    await node.shell("sed -i 's/ user_readenv=1//' /etc/pam.d/sshd");
    return node;
  }

  /** Path of the command. */
  readonly berth = join(installDirectory, 'berth');

  /** Runs `berth sshd …` as root of the host. */
  async sshd(...args: readonly string[]): Promise<BerthResult> {
    const result = await this.host.asRoot([this.berth, 'sshd', ...args]);
    return textOf(result);
  }

  async shell(script: string): Promise<BerthResult> {
    return textOf(await this.host.asRoot(['bash', '--norc', '-euc', script]));
  }

  /** Starts the sshd of a kind as its unit does, and waits until it listens. */
  async startKind(name: string, port: number): Promise<void> {
    const file = `/etc/ssh/berth/${name}.conf`;
    const child = spawn(
      'nsenter',
      [
        ...['--target', String(this.host.init), '--mount', '--pid', '--uts', '--wd=/', '--'],
        ...['bash', '-c', `echo $$ >/run/${name}.pid; exec /usr/sbin/sshd -D -f ${file}`],
      ],
      { stdio: 'ignore' },
    );
    this.#started.set(name, child);
    await waitFor({ what: `sshd at port ${port}`, timeoutMs: 60_000, everyMs: 20 }, async () => {
      const { stdout } = await run('ssh-keyscan', ['-T', '2', '-p', String(port), '127.0.0.1']);
      return stdout.length > 0 || undefined;
    });
  }

  /** Ends the listener of a kind. */
  async stopKind(name: string): Promise<void> {
    const child = this.#started.get(name);
    this.#started.delete(name);
    if (child?.exitCode !== null) return;
    const exited = once(child, 'exit');
    await this.shell(`kill "$(cat /run/${name}.pid)"`);
    await exited;
  }

  /** Lets ada log in at every sshd: those of kinds read keys in the home only. */
  async allowKeyInHome(): Promise<void> {
    const { home, uid } = this.host.account('ada');
    await this.shell(
      `install -d -o ${uid} -m 0700 ${home}/.ssh; install -o ${uid} -m 0600 /etc/ssh/authorized_keys/ada ${home}/.ssh/authorized_keys`,
    );
  }

  /** Names in /etc/ssh/berth. */
  async files(): Promise<string[]> {
    const { stdout } = await this.shell('ls -A /etc/ssh/berth 2>/dev/null || true');
    return stdout.split('\n').filter((name) => name !== '');
  }

  async stop(): Promise<void> {
    for (const name of this.#started.keys()) await this.stopKind(name);
    await this.host.stop();
  }
}

function textOf({ exitCode, stdout, stderr }: ClientResult): BerthResult {
  return { exitCode, stdout: stdout.toString(), stderr };
}
