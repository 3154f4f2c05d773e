import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { assertSuccess } from '../../../src/companions/verify/expect.ts';
import { inNetwork } from '../login-node/host-namespaces.ts';
import {
  run,
  type ClientOptions,
  type ClientResult,
} from '../../../src/companions/verify/run-client.ts';
import { ensurePackages } from '../site/debian-packages.ts';
import { publicDirectory } from '../site/directories.ts';
import { childOf } from '../site/processes.ts';
import { waitFor } from '../wait-for.ts';

export interface BalancerHostOptions {
  /** Name of the host, and of haproxy among its peers. */
  readonly name: string;
  /** The text of /etc/haproxy/haproxy.cfg. */
  readonly config: string;
  /** Path of a network namespace; default: the machine's. */
  readonly network?: string | undefined;
}

/**
 * A balancer: Debian's haproxy in master-worker mode with its syslog, in its own mount, PID and UTS namespaces, with
 * the files and arguments of Debian's haproxy.service.
 */
export class BalancerHost {
  readonly name: string;
  readonly #directory: string;
  readonly network: string | undefined;
  #unshare: ChildProcess;
  #init: number;

  private constructor(
    { name, network }: BalancerHostOptions,
    directory: string,
    { unshare, init }: Processes,
  ) {
    this.name = name;
    this.#directory = directory;
    this.network = network;
    this.#unshare = unshare;
    this.#init = init;
  }

  /** Starts a balancer and waits for its worker. @throws Error with haproxy's output if it does not start */
  static async start(options: BalancerHostOptions): Promise<BalancerHost> {
    await ensurePackages(['haproxy', 'rsyslog', 'iproute2']);
    await mkdir(publicDirectory, { recursive: true });
    const directory = await mkdtemp(join(publicDirectory, 'balancer-'));
    for (const name of ['etc/haproxy', 'etc.work'])
      await mkdir(join(directory, name), { recursive: true });
    await writeFile(join(directory, 'etc/haproxy/haproxy.cfg'), options.config);
    await writeFile(
      join(directory, 'etc/rsyslog-of-test.conf'),
      syslogConfig(join(directory, 'syslog')),
    );
    return new BalancerHost(
      options,
      directory,
      await startProcesses(directory, { name: options.name, network: options.network }),
    );
  }

  /** Replaces the worker by a new one, as `systemctl reload haproxy` does. @param config a new haproxy.cfg; default: the same */
  async reload(config?: string): Promise<void> {
    if (config !== undefined)
      await writeFile(`/proc/${this.#init}/root/etc/haproxy/haproxy.cfg`, config);
    const check = await this.asRoot(['haproxy', '-c', '-q', '-f', '/etc/haproxy/haproxy.cfg']);
    assertSuccess('haproxy -c', check);
    const before = await this.reloads();
    assertSuccess('kill', await this.asRoot(['sh', '-c', 'kill -USR2 "$(cat /run/haproxy.pid)"']));
    await waitFor({ what: 'a new worker', timeoutMs: 60_000, everyMs: 20 }, async () =>
      (await this.reloads()) > before ? true : undefined,
    );
  }

  /** How often the master has reloaded. */
  async reloads(): Promise<number> {
    const master = / master +(\d+)/.exec(await this.command('show proc'));
    if (master === null) throw new Error('haproxy shows no master');
    return Number(master[1]);
  }

  /** The number of workers: that of the last reload, and older ones with connections. */
  async workers(): Promise<number> {
    return (await this.command('show proc')).split('\n').filter((line) => line.includes(' worker '))
      .length;
  }

  /** Sends a command to the master's socket; `@1 COMMAND` asks the current worker. @returns the answer */
  command(line: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = createConnection(`/proc/${this.#init}/root/run/haproxy-master.sock`);
      let answer = '';
      socket.setEncoding('utf8');
      socket.on('data', (text: string) => (answer += text));
      socket.once('error', reject);
      socket.once('close', () => resolve(answer));
      socket.end(`${line}\n`);
    });
  }

  /** The state of a server, such as `UP` or `DOWN`. */
  async statusOf(server: string): Promise<string> {
    const lines = (await this.command('@1 show stat')).split('\n');
    const names =
      lines
        .find((line) => line.startsWith('# '))
        ?.slice(2)
        .split(',') ?? [];
    const values = lines.map((line) => line.split(',')).find((each) => each[1] === server);
    if (values === undefined) throw new Error(`haproxy has no server ${server}`);
    return values[names.indexOf('status')] ?? '';
  }

  /** The client addresses that the current worker has in its stick tables. */
  async addresses(): Promise<readonly string[]> {
    const tables = (await this.command('@1 show table')).matchAll(/^# table: (\S+),/gm);
    const found: string[] = [];
    for (const [, name = ''] of tables)
      for (const [, key = ''] of (await this.command(`@1 show table ${name}`)).matchAll(
        / key=(\S+)/g,
      ))
        found.push(key.replace(/^::ffff:/, ''));
    return found;
  }

  /** Runs a command as root on the host. */
  asRoot(argv: readonly string[], options?: ClientOptions): Promise<ClientResult> {
    const kinds = ['--mount', '--net', '--pid', '--uts', '--wd=/'];
    return run('nsenter', ['--target', String(this.#init), ...kinds, '--', ...argv], options);
  }

  /** The balancer's syslog. */
  async log(): Promise<string> {
    return readFile(join(this.#directory, 'syslog'), 'utf8').catch(() => '');
  }

  /** Kills all processes at once, as if the power failed. */
  async kill(): Promise<void> {
    const exited = once(this.#unshare, 'exit');
    process.kill(this.#init, 'SIGKILL');
    await exited;
  }

  /** Starts the host again after `kill`. */
  async boot(): Promise<void> {
    const { unshare, init } = await startProcesses(this.#directory, this);
    this.#unshare = unshare;
    this.#init = init;
  }

  async stop(): Promise<void> {
    if (this.#unshare.exitCode === null && this.#unshare.signalCode === null) {
      const exited = once(this.#unshare, 'exit');
      this.#unshare.stdin?.end();
      await exited;
    }
    await rm(this.#directory, { recursive: true, force: true });
  }
}

interface Processes {
  readonly unshare: ChildProcess;
  readonly init: number;
}

async function startProcesses(
  directory: string,
  { name, network }: Pick<BalancerHost, 'name' | 'network'>,
): Promise<Processes> {
  const log = join(directory, 'init.log');
  const output = await open(log, 'a', 0o600);
  const script = new URL('balancer-init.sh', import.meta.url).pathname;
  const namespaces = ['--mount', '--pid', '--uts', '--fork', '--kill-child'];
  const argv = ['unshare', ...namespaces, 'bash', script, directory, name];
  const [file = '', ...words] = inNetwork(network, argv);
  const unshare = spawn(file, words, {
    stdio: ['pipe', output.fd, output.fd],
    cwd: '/',
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
  });
  await once(unshare, 'spawn');
  await output.close();
  const alive = async (): Promise<void> => {
    if (unshare.exitCode !== null)
      throw new Error(`the balancer exited: ${await readFile(log, 'utf8')}`);
  };
  try {
    const init = await waitFor(
      { what: `haproxy of ${name} to start`, timeoutMs: 60_000, everyMs: 20, alive },
      async () => {
        const first = await childOf(unshare.pid);
        if (first === undefined) return undefined;
        // Debian's unit is ready when the worker is, which the master tells systemd.
        const { exitCode } = await run('nsenter', [
          ...['--target', String(first), '--mount', '--pid', '--wd=/', '--'],
          ...['sh', '-c', 'pgrep --parent "$(cat /run/haproxy.pid)" haproxy'],
        ]);
        return exitCode === 0 ? first : undefined;
      },
    );
    return { unshare, init };
  } catch (error) {
    unshare.kill('SIGKILL');
    throw new Error(await readFile(log, 'utf8'), { cause: error });
  }
}

/** As Debian's rsyslog.d/49-haproxy.conf: a second socket in haproxy's chroot. */
function syslogConfig(file: string): string {
  const line = '%timegenerated:::date-rfc3339% %syslogpriority-text% %syslogtag%%msg%\\n';
  return `global(workDirectory="/run" maxMessageSize="64k")
module(load="imuxsock" SysSock.RateLimit.Interval="0")
input(type="imuxsock" Socket="/var/lib/haproxy/dev/log" RateLimit.Interval="0")
template(name="line" type="string" string="${line}")
*.* action(type="omfile" file="${file}" template="line" fileCreateMode="0600")
`;
}
