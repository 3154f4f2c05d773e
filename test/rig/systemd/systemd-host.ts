import { chmod, mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { accountFiles } from '../site/account-files.ts';
import { publicDirectory } from '../site/directories.ts';
import { BootedSystem } from './booted-system.ts';
import type { ClientOptions, ClientResult } from '../../../src/companions/verify/run-client.ts';

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
  readonly #system: BootedSystem;

  private constructor({ name, address, adminPort }: SystemdHostOptions, system: BootedSystem) {
    this.name = name;
    this.address = address;
    this.adminPort = adminPort;
    this.directory = system.directory;
    this.#system = system;
  }

  /** Boots a host. @throws Error with what it printed if systemd does not start */
  static async boot(options: SystemdHostOptions): Promise<SystemdHost> {
    await mkdir(publicDirectory, { recursive: true });
    const directory = await mkdtemp(join(publicDirectory, `${options.name}-`));
    await chmod(directory, 0o755);
    await writeFiles(directory, options);
    const init = new URL('systemd-host-init.sh', import.meta.url).pathname;
    const ready = { command: ['is-system-running'], answer: /running|degraded/ };
    const system = await BootedSystem.boot({ init, directory, args: [options.name], ready });
    const host = new SystemdHost(options, system);
    // It kept systemd from changing the machine's settings; with it, users cannot mount a proc(5) of their own.
    await host.script('umount --lazy /proc/sys');
    return host;
  }

  /** Runs a command as root on the host. */
  asRoot(argv: readonly string[], options?: ClientOptions): Promise<ClientResult> {
    return this.#system.run(argv, options);
  }

  /** Runs a shell script as root. @returns its output @throws Error with its output if it fails */
  async script(text: string): Promise<string> {
    const { exitCode, stdout, stderr } = await this.asRoot(['bash', '--norc', '-euc', text], {
      timeout: 600_000,
    });
    if (exitCode !== 0) throw new Error(`${text}\n${stdout.toString()}${stderr}`);
    return stdout.toString();
  }

  /** Stops the host with all its processes. */
  stop(): Promise<void> {
    return this.#system.stop();
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
