import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ensureAccount } from '../../rig/site/accounts.ts';
import { ensurePackages } from '../../rig/site/debian-packages.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { childOf } from '../../rig/site/processes.ts';
import { waitFor } from '../../rig/site/wait.ts';
import { type ClientResult, run } from '../../rig/login-node/run-program.ts';

const unit = new URL('../../../etc/systemd/berth-sshd@.service', import.meta.url).pathname;
const init = new URL('../../rig/broker/broker-init.sh', import.meta.url).pathname;

/** A login node with systemd as its first process, the unit of etc/systemd, its own /etc and /run, and the user ada. */
export class UnitHost {
  readonly directory: string;
  readonly #unshare: ChildProcess;
  readonly #init: number;

  private constructor(directory: string, unshare: ChildProcess, first: number) {
    this.directory = directory;
    this.#unshare = unshare;
    this.#init = first;
  }

  static async boot(): Promise<UnitHost> {
    await ensurePackages(['openssh-server', 'openssh-client', 'systemd']);
    await ensureAccount('ada', { groups: ['berth'] });
    const directory = await mkdtemp(join(tmpdir(), 'berth-units-'));
    await chmod(directory, 0o755);
    await writeFiles(directory);
    const namespaces = ['--mount', '--pid', '--ipc', '--uts', '--fork', '--kill-child'];
    const unshare = spawn(
      'setpriv',
      ['--pdeathsig', 'KILL', 'unshare', ...namespaces, 'bash', init, directory],
      { stdio: 'ignore' },
    );
    const waiting = { what: 'the first process of the host', timeoutMs: 10_000, everyMs: 10 };
    const host = new UnitHost(
      directory,
      unshare,
      await waitFor(waiting, () => childOf(unshare.pid)),
    );
    await waitFor({ what: 'systemd to start', timeoutMs: 30_000, everyMs: 20 }, async () => {
      const { stdout } = await host.shell('systemctl is-active portal.target || true');
      return stdout.toString().trim() === 'active' || undefined;
    });
    return host;
  }

  /** Runs a script as root of this host. */
  shell(script: string): Promise<ClientResult> {
    const there = ['--target', String(this.#init), '--mount', '--pid', '--wd=/'];
    return run('nsenter', [
      ...there,
      '--',
      'bash',
      '--norc',
      '-eu',
      '-o',
      'pipefail',
      '-c',
      script,
    ]);
  }

  berth(args: string): Promise<ClientResult> {
    return this.shell(`${join(installDirectory, 'berth')} ${args}`);
  }

  /** Arguments of ssh for ada. */
  ssh(port: number): string {
    return `ssh -F /dev/null -i ${this.directory}/ada -o IdentitiesOnly=yes -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -p ${port} ada@127.0.0.1`;
  }

  async stop(): Promise<void> {
    const ended = once(this.#unshare, 'exit');
    process.kill(this.#init, 'SIGKILL');
    await ended;
    const cgroup = (await readFile(join(this.directory, 'cgroup'), 'utf8')).trim();
    const remove = `mount -t cgroup2 cgroup2 /sys/fs/cgroup
      find "/sys/fs/cgroup/$0" -depth -type d -exec rmdir {} +`;
    await promisify(execFile)('unshare', ['--mount', 'bash', '-euc', remove, cgroup]);
    await rm(this.directory, { recursive: true });
  }
}

async function writeFiles(directory: string): Promise<void> {
  const units = join(directory, 'units');
  for (const name of ['units', 'work', 'etc/pam.d', 'etc/ssh/keys'])
    await mkdir(join(directory, name), { recursive: true, mode: 0o755 });
  await copyFile(unit, join(units, 'berth-sshd@.service'));
  // Units that every unit depends on by default: systemd.special(7).
  for (const name of ['portal', 'sysinit', 'basic', 'shutdown', 'sockets', 'multi-user'])
    await writeFile(join(units, `${name}.target`), '[Unit]\nDefaultDependencies=no\n');
  const pam = await readFile('/etc/pam.d/sshd', 'utf8');
  await writeFile(join(directory, 'etc/pam.d/sshd'), pam.replace(' user_readenv=1', ''));
  const keygen = ['-q', '-t', 'ed25519', '-N', '', '-f'];
  for (const file of ['ada', 'etc/ssh/host_key'])
    await promisify(execFile)('ssh-keygen', [...keygen, join(directory, file)]);
  await copyFile(join(directory, 'ada.pub'), join(directory, 'etc/ssh/keys/ada'));
}
