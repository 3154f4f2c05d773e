import { execFile } from 'node:child_process';
import { chmod, copyFile, mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ensureAccount } from '../../rig/site/accounts.ts';
import { ensurePackages } from '../../rig/site/debian-packages.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { BootedSystem } from '../../rig/systemd/booted-system.ts';
import type { ClientResult } from '../../../src/companions/verify/run-client.ts';

const unit = new URL('../../../etc/systemd/berth-sshd@.service', import.meta.url).pathname;
const init = new URL('../../rig/systemd/own-units-init.sh', import.meta.url).pathname;

/** A login node with systemd as its first process, the unit of etc/systemd, its own /etc and /run, and the user ada. */
export class UnitHost {
  readonly #system: BootedSystem;

  private constructor(system: BootedSystem) {
    this.#system = system;
  }

  /** @param ownPort of the host's own sshd, which is not started */
  static async boot(ownPort: number): Promise<UnitHost> {
    await ensurePackages(['openssh-server', 'openssh-client', 'systemd']);
    await ensureAccount('ada', { groups: ['berth'] });
    const directory = await mkdtemp(join(tmpdir(), 'berth-units-'));
    await chmod(directory, 0o755);
    await writeFiles(directory, ownPort);
    const ready = { command: ['is-active', 'portal.target'], answer: /^active/ };
    return new UnitHost(await BootedSystem.boot({ init, directory, ready }));
  }

  /** Runs a script as root of this host. */
  shell(script: string): Promise<ClientResult> {
    return this.#system.run(['bash', '--norc', '-euo', 'pipefail', '-c', script]);
  }

  berth(args: string): Promise<ClientResult> {
    return this.shell(`${join(installDirectory, 'berth')} ${args}`);
  }

  /** Arguments of ssh for ada. */
  ssh(port: number): string {
    return `ssh -F /dev/null -i ${this.#system.directory}/ada -o IdentitiesOnly=yes -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -p ${port} ada@127.0.0.1`;
  }

  stop(): Promise<void> {
    return this.#system.stop();
  }
}

async function writeFiles(directory: string, ownPort: number): Promise<void> {
  const units = join(directory, 'units');
  for (const name of ['units', 'work', 'etc/pam.d', 'etc/ssh/keys'])
    await mkdir(join(directory, name), { recursive: true, mode: 0o755 });
  await copyFile(unit, join(units, 'berth-sshd@.service'));
  await copyFile('/lib/systemd/system/ssh.service', join(units, 'ssh.service'));
  // Units that every unit depends on by default: systemd.special(7).
  for (const name of ['portal', 'sysinit', 'basic', 'shutdown', 'sockets', 'multi-user'])
    await writeFile(join(units, `${name}.target`), '[Unit]\nDefaultDependencies=no\n');
  const pam = await readFile('/etc/pam.d/sshd', 'utf8');
  await writeFile(join(directory, 'etc/pam.d/sshd'), pam.replace(' user_readenv=1', ''));
  const own = `Port ${ownPort}\nListenAddress 127.0.0.1\nHostKey /etc/ssh/host_key\nPidFile none\n`;
  await writeFile(join(directory, 'etc/ssh/sshd_config'), own);
  const keygen = ['-q', '-t', 'ed25519', '-N', '', '-f'];
  for (const file of ['ada', 'etc/ssh/host_key'])
    await promisify(execFile)('ssh-keygen', [...keygen, join(directory, file)]);
  await copyFile(join(directory, 'ada.pub'), join(directory, 'etc/ssh/keys/ada'));
}
