import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { accountFiles } from '../site/account-files.ts';
import { publicDirectory } from '../site/directories.ts';
import { childOf } from '../site/processes.ts';
import { waitFor } from '../site/wait.ts';
import { run, type ClientOptions, type ClientResult } from '../login-node/run-program.ts';

export interface SystemdHostOptions {
  readonly name: string;
  /** Address below 127.0.0.0/8, which only this host uses. */
  readonly address: string;
  /** Port of the admins' sshd on this address. */
  readonly adminPort: number;
  /** Public key of root, as in authorized_keys. */
  readonly adminKey: string;
}

/**
 * A Debian host that systemd boots, in its own mount, PID, IPC and UTS namespaces, on an overlay of the machine's root:
 * packages, accounts and files that are added are gone when it stops. The network is the machine's; the host's own sshd
 * listens on a loopback address and lets root in.
 */
export class SystemdHost {
  readonly name: string;
  readonly address: string;
  readonly adminPort: number;
  readonly directory: string;
  readonly #unshare: ChildProcess;
  readonly #init: number;

  private constructor(
    options: SystemdHostOptions,
    directory: string,
    unshare: ChildProcess,
    init: number,
  ) {
    this.name = options.name;
    this.address = options.address;
    this.adminPort = options.adminPort;
    this.directory = directory;
    this.#unshare = unshare;
    this.#init = init;
  }

  /** Boots a host. @throws Error with the end of its log if systemd does not start */
  static async boot(options: SystemdHostOptions): Promise<SystemdHost> {
    await mkdir(publicDirectory, { recursive: true });
    const directory = await mkdtemp(join(publicDirectory, `${options.name}-`));
    await execa('chmod', ['0755', directory]);
    await writeFiles(directory, options);
    const log = await open(join(directory, 'log'), 'a', 0o600);
    const init = new URL('systemd-host-init.sh', import.meta.url).pathname;
    const namespaces = ['--mount', '--pid', '--ipc', '--uts', '--fork', '--kill-child'];
    const unshare = spawn(
      'setpriv',
      ['--pdeathsig', 'KILL', 'unshare', ...namespaces, 'bash', init, directory, options.name],
      { stdio: ['ignore', log.fd, log.fd], env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' } },
    );
    await log.close();
    const waiting = { what: 'the first process of the host', timeoutMs: 10_000, everyMs: 10 };
    const first = await waitFor(waiting, () => childOf(unshare.pid));
    const host = new SystemdHost(options, directory, unshare, first);
    await host.#waitUntilBooted();
    // It kept systemd from changing the machine's settings; with it, users cannot mount a proc(5) of their own.
    await host.script('umount --lazy /proc/sys');
    return host;
  }

  /** Runs a command as root on the host. */
  asRoot(argv: readonly string[], options?: ClientOptions): Promise<ClientResult> {
    const there = [
      '--target',
      String(this.#init),
      '--mount',
      '--pid',
      '--ipc',
      '--uts',
      '--cgroup',
    ];
    const environment = ['env', '-i', 'PATH=/usr/sbin:/usr/bin:/sbin:/bin', 'LANG=C.UTF-8'];
    return run('nsenter', [...there, '--', ...environment, ...argv], options);
  }

  /** Runs a shell script as root. @returns its output @throws Error with its output if it fails */
  async script(text: string): Promise<string> {
    const { exitCode, stdout, stderr } = await this.asRoot(['bash', '--norc', '-euc', text], {
      timeout: 120_000,
    });
    if (exitCode !== 0) throw new Error(`${text}\n${stdout.toString()}${stderr}`);
    return stdout.toString();
  }

  /** Stops the host with all its processes. */
  async stop(): Promise<void> {
    const ended = once(this.#unshare, 'exit');
    process.kill(this.#init, 'SIGKILL');
    await ended;
    const cgroup = (await readFile(join(this.directory, 'cgroup'), 'utf8')).trim();
    const remove = `mount -t cgroup2 cgroup2 /sys/fs/cgroup
      find "/sys/fs/cgroup/$0" -depth -type d -exec rmdir {} +`;
    await execa('unshare', ['--mount', 'bash', '-euc', remove, cgroup]);
    await rm(this.directory, { recursive: true });
  }

  async #waitUntilBooted(): Promise<void> {
    const log = (): Promise<string> => readFile(join(this.directory, 'log'), 'utf8');
    const alive = async (): Promise<void> => {
      if (this.#unshare.exitCode !== null) throw new Error(`it exited: ${await log()}`);
    };
    const what = { what: `${this.name} to boot`, timeoutMs: 60_000, everyMs: 100, alive };
    await waitFor(what, async () => {
      const { stdout } = await this.asRoot(['systemctl', 'is-system-running']);
      return /running|degraded/.test(stdout.toString()) ? true : undefined;
    });
  }
}

async function writeFiles(directory: string, options: SystemdHostOptions): Promise<void> {
  for (const name of ['etc/ssh', 'disk/home', 'disk/storage'])
    await mkdir(join(directory, name), { recursive: true });
  const etc = join(directory, 'etc');
  for (const [name, text] of await accountFiles('/etc', []))
    await writeFile(join(etc, name), text, { mode: name.includes('shadow') ? 0o600 : 0o644 });
  await writeFile(join(etc, 'hostname'), `${options.name}\n`);
  await writeFile(join(etc, 'hosts'), `127.0.0.1 localhost\n${options.address} ${options.name}\n`);
  await writeFile(
    join(etc, 'ssh/sshd_config'),
    `Port ${options.adminPort}
ListenAddress ${options.address}
UsePAM yes
PermitRootLogin prohibit-password
AuthorizedKeysFile /etc/ssh/root_keys
Subsystem sftp /usr/lib/openssh/sftp-server
`,
  );
  await writeFile(join(etc, 'ssh/root_keys'), `${options.adminKey}\n`);
}
