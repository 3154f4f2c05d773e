import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { stringify } from 'yaml';
import {
  run,
  type ClientOptions,
  type ClientResult,
} from '../../../src/companions/verify/run-client.ts';
import { ensurePackages } from '../site/debian-packages.ts';
import { publicDirectory } from '../site/directories.ts';
import { freePorts } from '../free-ports.ts';
import { ansibleEnvironment } from './ansible-tools.ts';
import { SystemdHost } from '../systemd/systemd-host.ts';

const repository = new URL('../../..', import.meta.url).pathname;

/** What `ansible-playbook` did on a host, from its recap. */
export interface HostRecap {
  readonly ok: number;
  readonly changed: number;
  readonly unreachable: number;
  readonly failed: number;
}

export interface PlaybookRun {
  readonly exitCode: number | undefined;
  readonly output: string;
  readonly recap: Readonly<Record<string, HostRecap>>;
  /** The names of the tasks that changed something on a host, without handlers, in their order. */
  changedTasks(host: string): string[];
}

/** A controller with the collection, an archive of Berth and an inventory, and hosts that it configures by ssh. */
export class AnsibleSite {
  readonly directory: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly hosts: SystemdHost[] = [];
  readonly #adminPort: number;

  private constructor(
    directory: string,
    environment: Readonly<Record<string, string>>,
    adminPort: number,
  ) {
    this.directory = directory;
    this.environment = environment;
    this.#adminPort = adminPort;
  }

  static async create(): Promise<AnsibleSite> {
    await ensurePackages(['openssh-server', 'openssh-client', 'python3', 'python3-apt']);
    await mkdir(publicDirectory, { recursive: true });
    const directory = await mkdtemp(join(publicDirectory, 'ansible-'));
    await chmod(directory, 0o755);
    const { adminPort } = await freePorts(['adminPort']);
    const site = new AnsibleSite(directory, await ansibleEnvironment(), adminPort);
    await execa('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', site.path('key')]);
    await site.#installCollection();
    return site;
  }

  /** A path below the site's directory. */
  path(name: string): string {
    return join(this.directory, name);
  }

  /** Boots a host with a loopback address of its own. */
  async boot(name: string, address: string): Promise<SystemdHost> {
    const adminKey = (await readFile(this.path('key.pub'), 'utf8')).trim();
    const host = await SystemdHost.boot({ name, address, adminPort: this.#adminPort, adminKey });
    this.hosts.push(host);
    return host;
  }

  /** Builds the archive of README.md. @returns its path */
  async archive(): Promise<string> {
    const stage = this.path('stage');
    const install = join(repository, 'scripts/install.ts');
    await execa(process.execPath, ['--import', 'tsx', install, '--destdir', stage], {
      cwd: repository,
    });
    return this.pack('berth.tar.gz');
  }

  /** Packs the staged files, which a test may have changed. */
  async pack(name: string): Promise<string> {
    const tar = ['--sort=name', '--owner=0', '--group=0', '--mtime=@0', '-I', 'gzip -1'];
    await execa('tar', ['-C', this.path('stage'), ...tar, '-cf', this.path(name), '.']);
    return this.path(name);
  }

  async writeInventory(groups: object): Promise<void> {
    await writeFile(this.path('inventory.yml'), stringify(groups));
  }

  /** The variables with which Ansible reaches a host. */
  connection({ address, adminPort }: SystemdHost): Readonly<Record<string, unknown>> {
    return {
      ...{ ansible_host: address, ansible_port: adminPort, ansible_user: 'root' },
      ansible_ssh_private_key_file: this.path('key'),
      // Debian's, which has python3-apt: the first one in PATH may be another one.
      ansible_python_interpreter: '/usr/bin/python3',
      ansible_ssh_common_args: `-F /dev/null -o StrictHostKeyChecking=no -o UserKnownHostsFile=${this.path('known_hosts')}`,
    };
  }

  /** Runs a playbook of the collection, or that of a path. */
  async play(playbook: string, ...args: readonly string[]): Promise<PlaybookRun> {
    const name = playbook.startsWith('/') ? playbook : `berth.berth.${playbook}`;
    const command = [name, '--inventory', this.path('inventory.yml'), ...args];
    return playbookRun(await this.run('ansible-playbook', command));
  }

  /** Runs an action of the collection's Molecule scenario, such as `converge`. */
  async molecule(action: string, ...args: readonly string[]): Promise<PlaybookRun> {
    const command = [action, ...(args.length === 0 ? [] : ['--', ...args])];
    return playbookRun(
      await this.run('molecule', command, { cwd: join(repository, 'etc/ansible') }),
    );
  }

  /** Runs a program of Ansible with the site's settings. */
  run(
    program: string,
    args: readonly string[],
    { cwd = this.directory }: ClientOptions = {},
  ): Promise<ClientResult> {
    return run(program, args, {
      cwd,
      timeout: 1_790_000,
      env: {
        ...this.environment,
        HOME: this.directory,
        ANSIBLE_HOME: this.path('ansible-home'),
        ANSIBLE_COLLECTIONS_PATH: this.path('collections'),
        ANSIBLE_PIPELINING: 'true',
        ANSIBLE_NOCOLOR: 'true',
        ANSIBLE_FORCE_COLOR: 'false',
        NO_COLOR: '1',
        BERTH_INVENTORY: this.path('inventory.yml'),
      },
    });
  }

  /** Stops the hosts and removes the files. */
  async remove(): Promise<void> {
    await Promise.all(this.hosts.map((host) => host.stop()));
    await rm(this.directory, { recursive: true, force: true });
  }

  /** As README.md says. */
  async #installCollection(): Promise<void> {
    const galaxy = async (...args: string[]): Promise<void> => {
      const { exitCode, stderr } = await this.run('ansible-galaxy', ['collection', ...args]);
      if (exitCode !== 0) throw new Error(`ansible-galaxy ${args.join(' ')}: ${stderr}`);
    };
    await galaxy('build', join(repository, 'etc/ansible'));
    const built = this.path('berth-berth-0.1.0.tar.gz');
    await galaxy('install', built, '--collections-path', this.path('collections'), '--offline');
  }
}

function playbookRun({ exitCode, stdout, stderr }: ClientResult): PlaybookRun {
  const output = stdout.toString() + stderr;
  const changedTasks = (host: string): string[] => changedOn(host, output);
  return { exitCode, output, recap: recapOf(output), changedTasks };
}

/** The counts of `PLAY RECAP` by host. */
function recapOf(output: string): Record<string, HostRecap> {
  const lines = output.matchAll(
    /^(\S+) +: ok=(\d+) +changed=(\d+) +unreachable=(\d+) +failed=(\d+)/gm,
  );
  return Object.fromEntries(
    [...lines].map(([, host = '', ok, changed, unreachable, failed]) => [
      host,
      {
        ...{ ok: Number(ok), changed: Number(changed) },
        ...{ unreachable: Number(unreachable), failed: Number(failed) },
      },
    ]),
  );
}

function changedOn(host: string, output: string): string[] {
  return output
    .split(/^(?=TASK \[|RUNNING HANDLER \[|PLAY )/m)
    .filter((task) => task.startsWith('TASK ['))
    .filter((task) => task.includes(`\nchanged: [${host}]`))
    .map((task) => /^TASK \[(?:\S+ : )?(.*?)\]/.exec(task)?.[1] ?? '');
}
