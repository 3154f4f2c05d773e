import { Terminal } from '../../../src/companions/verify/terminal.ts';
import { freePorts } from '../free-ports.ts';
import { installDirectory } from '../site/portal.ts';
import { type ClientResult, run } from '../../../src/companions/verify/run-client.ts';
import { SshHost } from './ssh-host.ts';

interface ScriptResult {
  readonly exitCode: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * A host without Berth's configuration, with the accounts alice and bob and, where init keeps copies, an empty /root. What init adds to
 * the installation, the transfer tools, is this host's only: other tests use the installation meanwhile.
 */
export class InitHost {
  readonly host: SshHost;
  /** A free port for the sessions. */
  readonly port: number;

  private constructor(host: SshHost, port: number) {
    this.host = host;
    this.port = port;
  }

  static async start(): Promise<InitHost> {
    const host = await SshHost.start({ mode: 'plain', pam: '', users: { alice: [], bob: [] } });
    const { port } = await freePorts(['port']);
    const made = new InitHost(host, port);
    const { stderr } = await made.shell(`mount -t tmpfs -o mode=0755 tmpfs /mnt
      mkdir /mnt/upper /mnt/work
      mount -t overlay overlay -o lowerdir=${installDirectory},upperdir=/mnt/upper,workdir=/mnt/work ${installDirectory}
      mount -t tmpfs -o mode=0700 tmpfs /root
      rm -rf /etc/berth/* /etc/subuid /etc/subgid
      usermod --shell /bin/bash alice
      ssh-keygen -A >/dev/null`);
    if (stderr !== '') throw new Error(stderr);
    return made;
  }

  /** Runs a shell script as root. */
  async shell(script: string): Promise<ScriptResult> {
    const { exitCode, stdout, stderr } = await this.host.asRoot(
      ['bash', '--norc', '-euc', script],
      { timeout: 120_000 },
    );
    return { exitCode, stdout: stdout.toString(), stderr };
  }

  /** Runs `berth init KIND …` without a terminal. @param before words before it, for example of strace */
  init(words: string, before = ''): Promise<ScriptResult> {
    return this.shell(`${before} ${installDirectory}/berth init ${words}`);
  }

  /** Runs `berth init KIND …` on a pseudo-terminal. */
  openInit(...words: readonly string[]): Terminal {
    return this.open([`${installDirectory}/berth`, 'init', ...words]);
  }

  /** Runs a program on a pseudo-terminal. */
  open(program: readonly string[]): Terminal {
    const enter = ['--target', String(this.host.init), '--mount', '--net', '--pid', '--uts'];
    const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/root', TERM: 'xterm' };
    return Terminal.open({ env }, ['nsenter', ...enter, '--wd=/', '--', ...program]);
  }

  /**
   * Starts the sessions' sshd as its unit does, with the keys where the test has them, and runs ssh as alice.
   *
   * @param words options and a command
   */
  async session(words: readonly string[], input = ''): Promise<ClientResult> {
    await this.shell(`mkdir -p /run/sshd
      /usr/sbin/sshd -f /etc/ssh/berth/login.conf -o AuthorizedKeysFile=/etc/ssh/authorized_keys/%u`);
    const argv = [
      ...[...this.host.clientOptions('alice'), '-o', 'StrictHostKeyChecking=no'],
      ...['-o', 'UserKnownHostsFile=/dev/null', '-o', 'LogLevel=ERROR'],
      ...['-p', String(this.port), 'alice@127.0.0.1', ...words],
    ];
    return run('ssh', argv, { input });
  }

  /** The names and contents of all files that init may write, without those that were kept, as one text. */
  async state(): Promise<string> {
    const { stdout } = await this.shell(`cd /etc
      find berth pam.d security ssh passwd group subuid subgid -type f 2>/dev/null | sort |
        grep -vE '[.][0-9]{8}T[0-9]{6}Z' | xargs sha256sum`);
    return stdout;
  }

  stop(): Promise<void> {
    return this.host.stop();
  }
}

/** The commands that `berth init` prints under a title, such as `to undo this run`. */
export function undoCommands(stdout: string, title: string): string[] {
  const [, commands = ''] = new RegExp(`^${title}:\\n((?: {2}.*\\n)+)`, 'm').exec(stdout) ?? [];
  return commands.split('\n').flatMap((line) => line.trim() || []);
}
