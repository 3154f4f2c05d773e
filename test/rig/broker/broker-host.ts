import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { childOf } from '../site/processes.ts';
import { waitFor } from '../site/wait.ts';

const etc = new URL('../../../etc/systemd/', import.meta.url).pathname;
const init = new URL('broker-init.sh', import.meta.url).pathname;

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
  readonly #unshare: ChildProcess;
  readonly #init: number;

  private constructor(directory: string, unshare: ChildProcess, first: number) {
    this.directory = directory;
    this.#unshare = unshare;
    this.#init = first;
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
    const namespaces = ['--mount', '--pid', '--ipc', '--uts', '--fork', '--kill-child'];
    const unshare = spawn(
      'setpriv',
      ['--pdeathsig', 'KILL', 'unshare', ...namespaces, 'bash', init, directory],
      { stdio: 'ignore' },
    );
    const waiting = { what: 'the first process of the host', timeoutMs: 10_000, everyMs: 10 };
    const first = await waitFor(waiting, () => childOf(unshare.pid));
    const host = new BrokerHost(directory, unshare, first);
    await host.#waitUntil(
      async () => (await host.systemctl('is-active', 'portal.target')) === 'active',
    );
    return host;
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
    const [file = '', ...rest] = this.enter(['systemctl', ...args]);
    return await new Promise((resolve) => {
      execFile(file, rest, (_, stdout, stderr) => {
        resolve((stdout + stderr).trim());
      });
    });
  }

  /** A command line that runs `argv` on this host as root. */
  enter(argv: readonly string[], directory = '/'): string[] {
    const there = ['--target', String(this.#init), '--mount', '--pid', `--wd=${directory}`];
    return ['nsenter', ...there, '--', ...argv];
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

  async #waitUntil(done: () => Promise<boolean>): Promise<void> {
    const alive = (): Promise<void> =>
      this.#unshare.exitCode === null ? Promise.resolve() : Promise.reject(new Error('it exited'));
    const what = { what: 'systemd to start', timeoutMs: 30_000, everyMs: 20, alive };
    await waitFor(what, async () => (await done()) || undefined);
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
