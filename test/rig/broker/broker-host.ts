import { existsSync, readFileSync } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BootedSystem } from '../systemd/booted-system.ts';

const etc = new URL('../../../etc/systemd/', import.meta.url).pathname;
const init = new URL('../systemd/own-units-init.sh', import.meta.url).pathname;

export interface BrokerHostOptions {
  /** Command line of the compiled `hooks/credential-broker`, which may start with, for example, strace. */
  readonly command: readonly string[];
  /** Path of berth.yml. */
  readonly config: string;
  /** The `state_dir` of this configuration. */
  readonly stateDir: string;
  /** Names of accounts that exist on this host only, by UID. */
  readonly users?: Readonly<Record<number, string>>;
  /** Lines for `[Service]`, which follow those of etc/systemd. */
  readonly service?: readonly string[];
}

/**
 * A portal host for the broker: systemd as the first process of new namespaces, with the units of etc/systemd
 * and a drop-in for the test's program and configuration. The broker's socket exists only in these namespaces:
 * run clients with `enterAs`.
 */
export class BrokerHost {
  readonly directory: string;
  readonly #system: BootedSystem;

  private constructor(system: BootedSystem) {
    this.directory = system.directory;
    this.#system = system;
  }

  /** Whether this process is root and systemd is installed. */
  static get isSupported(): boolean {
    return process.getuid?.() === 0 && existsSync('/lib/systemd/systemd');
  }

  static async boot(options: BrokerHostOptions): Promise<BrokerHost> {
    const directory = await mkdtemp(join(tmpdir(), 'berth-host-'));
    await chmod(directory, 0o755);
    await writeUnits(join(directory, 'units'), directory, options);
    if (options.users) {
      for (const name of ['etc', 'work']) await mkdir(join(directory, name));
      await writePasswd(join(directory, 'etc/passwd'), options.users);
    }
    const ready = { command: ['is-active', 'portal.target'], answer: /^active/ };
    return new BrokerHost(await BootedSystem.boot({ init, directory, ready }));
  }

  /** Replaces the accounts that exist on this host only. */
  async setUserNames(users: Readonly<Record<number, string>>): Promise<void> {
    await writePasswd(join(this.directory, 'etc/passwd'), users);
  }

  /** Starts a user's socket unit, as the hook does at a login (`ensureBroker`). */
  async startSocket(uid: number): Promise<void> {
    const unit = `berth-broker@${uid}.socket`;
    const output = await this.systemctl('start', unit);
    if ((await this.systemctl('is-active', unit)) !== 'active')
      throw new Error(`${output}\n${await this.systemctl('status', unit)}`);
  }

  /** Runs systemctl. @returns its output, also if it fails */
  async systemctl(...args: readonly string[]): Promise<string> {
    const { stdout, stderr } = await this.#system.run(['systemctl', ...args]);
    return (stdout.toString() + stderr).trim();
  }

  /** A command line that runs `argv` on this host as root. */
  enter(argv: readonly string[], directory = '/'): string[] {
    return this.#system.enter(argv, ['--mount', '--pid', `--wd=${directory}`]);
  }

  /** A command line that runs `argv` on this host as a user. */
  enterAs(uid: number, argv: readonly string[]): string[] {
    const ids = [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups'];
    return this.enter(['setpriv', ...ids, ...argv]);
  }

  /** The brokers' stderr. */
  get log(): string {
    return readFileSync(join(this.directory, 'log'), 'utf8');
  }

  stop(): Promise<void> {
    return this.#system.stop();
  }
}

async function writeUnits(
  units: string,
  directory: string,
  { command, config, stateDir, service = [] }: BrokerHostOptions,
): Promise<void> {
  const dropIns = join(units, 'berth-broker@.service.d');
  await mkdir(dropIns, { recursive: true });
  for (const name of ['berth-broker@.socket', 'berth-broker@.service', 'berth-broker.slice'])
    await copyFile(join(etc, name), join(units, name));
  // Units that every unit depends on by default: systemd.special(7).
  for (const name of ['portal', 'sysinit', 'basic', 'shutdown', 'sockets'])
    await writeFile(join(units, `${name}.target`), '[Unit]\nDefaultDependencies=no\n');
  const text = await readFile(join(etc, 'berth-broker@.service'), 'utf8');
  const line = /^ExecStart=(.*)$/m.exec(text)?.[1] ?? '';
  const here = line.replace('/usr/lib/berth/hooks/credential-broker', command.join(' '));
  const dropIn = [
    ...['[Service]', 'ExecStart=', `ExecStart=${here} --config ${config}`],
    // The test's files are in /tmp.
    ...['PrivateTmp=no', `ReadWritePaths=-${stateDir} ${directory}`],
    ...[`StandardError=append:${join(directory, 'log')}`, ...service],
  ];
  await writeFile(join(dropIns, 'test.conf'), `${dropIn.join('\n')}\n`);
  await writeFile(join(directory, 'log'), '');
}

async function writePasswd(path: string, users: Readonly<Record<number, string>>): Promise<void> {
  const lines = Object.entries(users).map(([uid, name]) => `${name}:x:${uid}:${uid}::/:/bin/sh\n`);
  await writeFile(path, (await readFile('/etc/passwd', 'utf8')) + lines.join(''), { mode: 0o644 });
}
