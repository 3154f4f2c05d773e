import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LiveSession } from '../../rig/login-node/live-session.ts';
import {
  run,
  type ClientOptions,
  type ClientResult,
} from '../../../src/companions/verify/run-client.ts';
import { SshHost, type SshHostOptions } from '../../rig/login-node/ssh-host.ts';
import { freePorts } from '../../rig/free-ports.ts';
import { childOf } from '../../rig/site/processes.ts';
import { waitFor } from '../../rig/wait-for.ts';

const script = new URL('systemd-init.sh', import.meta.url).pathname;
const units = new URL('../../../etc/systemd/', import.meta.url).pathname;

/**
 * A login node with systemd, which runs `berth-sshd@NAME.service` of etc/systemd as it is: systemd is the first process of
 * a PID namespace within an SshHost, whose files and own sshd stay.
 */
export class SystemdNode {
  readonly host: SshHost;
  /** sshd's port of each kind. */
  readonly ports: Readonly<Record<string, number>>;
  readonly #child: ChildProcess;
  readonly #systemd: number;

  private constructor(
    host: SshHost,
    ports: Readonly<Record<string, number>>,
    child: ChildProcess,
    systemd: number,
  ) {
    this.host = host;
    this.ports = ports;
    this.#child = child;
    this.#systemd = systemd;
  }

  /** Starts a node on which these instances of berth-sshd@.service are enabled. */
  static async start(kinds: readonly string[], options: SshHostOptions): Promise<SystemdNode> {
    const host = await SshHost.start(options);
    const ports = await freePorts(kinds);
    await writeUnits(join(host.directory, 'units'));
    const config = await readFile(host.path('/etc/ssh/sshd_config'), 'utf8');
    await mkdir(host.path('/etc/ssh/berth'), { recursive: true });
    const wants = '/etc/systemd/system/multi-user.target.wants';
    await host.asRoot(['sh', '-c', `rm -rf /etc/systemd/system; mkdir -p ${wants}`]);
    for (const kind of kinds) {
      const own = config.replace(/^Port .*$/m, `Port ${ports[kind] ?? 0}`);
      const text = own.replace(/^PidFile.*\n/m, '');
      await writeFile(host.path(`/etc/ssh/berth/${kind}.conf`), `PidFile none\n${text}`);
      const unit = `${host.directory}/units/berth-sshd@.service`;
      await host.asRoot(['ln', '-s', unit, `${wants}/berth-sshd@${kind}.service`]);
    }
    const enter = ['--target', String(host.init), '--mount', '--pid', '--uts', '--wd=/', '--'];
    const namespaces = ['--mount', '--pid', '--ipc', '--fork', '--kill-child'];
    const child = spawn(
      'nsenter',
      [...enter, 'unshare', ...namespaces, 'bash', script, host.directory],
      { stdio: 'ignore' },
    );
    const waiting = { what: 'the first process of systemd', timeoutMs: 60_000, everyMs: 10 };
    const systemd = await waitFor(waiting, async () => {
      const outer = await childOf(child.pid);
      return outer === undefined ? undefined : await childOf(outer);
    });
    const node = new SystemdNode(host, ports, child, systemd);
    await waitFor({ what: 'systemd to start', timeoutMs: 60_000, everyMs: 50 }, async () => {
      const { stdout } = await node.run(['systemctl', 'is-active', 'multi-user.target']);
      return stdout.toString().trim() === 'active' ? true : undefined;
    });
    return node;
  }

  /** Runs a command as root on the node. */
  run(argv: readonly string[], options?: ClientOptions): Promise<ClientResult> {
    return run('nsenter', [...this.enter, '--', ...argv], options);
  }

  /** Options of nsenter(1) that lead to the node. */
  get enter(): string[] {
    return ['--target', String(this.#systemd), '--mount', '--pid', '--uts', '--cgroup', '--wd=/'];
  }

  /** A client's session at one of the kinds that prints `ready` and then runs a command. */
  async session(kind: string, user: string, command: string): Promise<LiveSession> {
    const place = Object.assign(Object.create(this.host) as SshHost, { port: this.ports[kind] });
    // The key of the host is known at its own sshd's port.
    const alias = ['-o', `HostKeyAlias=[127.0.0.1]:${this.host.port}`];
    const session = LiveSession.start(place, user, [...alias, '-tt', `echo ready; ${command}`]);
    await session.waitForOutput('ready');
    return session;
  }

  async stop(): Promise<void> {
    const ended = once(this.#child, 'exit');
    process.kill(this.#systemd, 'SIGKILL');
    await ended;
    await this.host.stop();
  }
}

async function writeUnits(directory: string): Promise<void> {
  await mkdir(directory);
  for (const name of ['sysinit', 'basic', 'shutdown', 'network', 'nss-user-lookup'])
    await writeFile(join(directory, `${name}.target`), '[Unit]\nDefaultDependencies=no\n');
  await writeFile(join(directory, 'multi-user.target'), '[Unit]\nAllowIsolate=yes\n');
  await copyFile(join(units, 'berth-sshd@.service'), join(directory, 'berth-sshd@.service'));
}
