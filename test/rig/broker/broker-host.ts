import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

const etc = new URL('../../../etc/systemd/', import.meta.url).pathname;
const init = new URL('broker-init.sh', import.meta.url).pathname;

export interface BrokerHostOptions {
  /** The argv of the compiled `hooks/credential-broker`, perhaps of a wrapper such as strace. */
  readonly command: readonly string[];
  /** Path of berth.yml. */
  readonly config: string;
  /** Its `state_dir`. */
  readonly stateDir: string;
  /** Names of users who have an account on this host only, by UID. */
  readonly users?: Readonly<Record<number, string>>;
  /** Lines for `[Service]`, after those of etc/systemd. */
  readonly service?: readonly string[];
}

/**
 * A portal host for the broker: systemd as the first process in its own namespaces, with the units of
 * etc/systemd. A drop-in sets the paths of the test's program and configuration. Clients of the broker must
 * run in it (`as`), because only it has the sockets.
 */
export class BrokerHost {
  readonly folder: string;
  readonly #unshare: ChildProcess;
  readonly #init: number;

  private constructor(folder: string, unshare: ChildProcess, first: number) {
    this.folder = folder;
    this.#unshare = unshare;
    this.#init = first;
  }

  /** False without root, which systemd as the first process needs. */
  static get possible(): boolean {
    return process.getuid?.() === 0 && existsSync('/lib/systemd/systemd');
  }

  static async boot(options: BrokerHostOptions): Promise<BrokerHost> {
    const folder = await mkdtemp(join(tmpdir(), 'berth-host-'));
    await chmod(folder, 0o755);
    await writeUnits(join(folder, 'units'), folder, options);
    if (options.users) {
      for (const name of ['etc', 'work']) await mkdir(join(folder, name));
      await writePasswd(join(folder, 'etc/passwd'), options.users);
    }
    const namespaces = ['--mount', '--pid', '--ipc', '--uts', '--fork', '--kill-child'];
    const unshare = spawn(
      'setpriv',
      ['--pdeathsig', 'KILL', 'unshare', ...namespaces, 'bash', init, folder],
      { stdio: 'ignore' },
    );
    const host = new BrokerHost(folder, unshare, await firstProcess(unshare));
    await host.#until(
      async () => (await host.systemctl('is-active', 'portal.target')) === 'active',
    );
    return host;
  }

  /** Replaces the host's own users. */
  async rename(users: Readonly<Record<number, string>>): Promise<void> {
    await writePasswd(join(this.folder, 'etc/passwd'), users);
  }

  /** Opens a user's socket as the hook does (`openBrokerSocket`). */
  async open(uid: number): Promise<void> {
    const unit = `berth-broker@${uid}.socket`;
    const said = await this.systemctl('start', unit);
    if ((await this.systemctl('is-active', unit)) !== 'active')
      throw new Error(`${said}\n${await this.systemctl('status', unit)}`);
  }

  /** @returns systemctl's output, also if it fails */
  async systemctl(...args: readonly string[]): Promise<string> {
    const [file = '', ...words] = this.enter(['systemctl', ...args]);
    return await new Promise((resolve) => {
      execFile(file, words, (_, stdout, stderr) => {
        resolve((stdout + stderr).trim());
      });
    });
  }

  /** The argv that runs a command on this host. */
  enter(argv: readonly string[], folder = '/'): string[] {
    const there = ['--target', String(this.#init), '--mount', '--pid', `--wd=${folder}`];
    return ['nsenter', ...there, '--', ...argv];
  }

  /** The argv that runs a command on this host as a user. */
  as(uid: number, argv: readonly string[]): string[] {
    const ids = [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups'];
    return this.enter(['setpriv', ...ids, ...argv]);
  }

  /** Lines that brokers wrote to stderr. */
  get log(): string {
    return readFileSync(join(this.folder, 'log'), 'utf8');
  }

  async stop(): Promise<void> {
    const ended = once(this.#unshare, 'exit');
    process.kill(this.#init, 'SIGKILL');
    await ended;
    const cgroup = (await readFile(join(this.folder, 'cgroup'), 'utf8')).trim();
    const remove = `mount -t cgroup2 cgroup2 /sys/fs/cgroup
      find "/sys/fs/cgroup/$0" -depth -type d -exec rmdir {} +`;
    await promisify(execFile)('unshare', ['--mount', 'bash', '-euc', remove, cgroup]);
    await rm(this.folder, { recursive: true });
  }

  async #until(done: () => Promise<boolean>): Promise<void> {
    const end = Date.now() + 30_000;
    while (!(await done())) {
      if (this.#unshare.exitCode !== null || Date.now() > end) throw new Error('no systemd');
      await sleep(20);
    }
  }
}

async function writeUnits(
  units: string,
  folder: string,
  { command, config, stateDir, service = [] }: BrokerHostOptions,
): Promise<void> {
  const dropIns = join(units, 'berth-broker@.service.d');
  await mkdir(dropIns, { recursive: true });
  for (const name of ['berth-broker@.socket', 'berth-broker@.service', 'berth-broker.slice'])
    await copyFile(join(etc, name), join(units, name));
  // The default dependencies of each unit, see systemd.special(7).
  for (const name of ['portal', 'sysinit', 'basic', 'shutdown', 'sockets'])
    await writeFile(join(units, `${name}.target`), '[Unit]\nDefaultDependencies=no\n');
  const text = await readFile(join(etc, 'berth-broker@.service'), 'utf8');
  const line = /^ExecStart=(.*)$/m.exec(text)?.[1] ?? '';
  const here = line.replace('/usr/lib/berth/hooks/credential-broker', command.join(' '));
  const dropIn = [
    ...['[Service]', 'ExecStart=', `ExecStart=${here} --config ${config}`],
    // The test's files are in /tmp.
    ...['PrivateTmp=no', `ReadWritePaths=-${stateDir} ${folder}`],
    ...[`StandardError=append:${join(folder, 'log')}`, ...service],
  ];
  await writeFile(join(dropIns, 'test.conf'), `${dropIn.join('\n')}\n`);
  await writeFile(join(folder, 'log'), '');
}

async function writePasswd(path: string, users: Readonly<Record<number, string>>): Promise<void> {
  const lines = Object.entries(users).map(([uid, name]) => `${name}:x:${uid}:${uid}::/:/bin/sh\n`);
  await writeFile(path, (await readFile('/etc/passwd', 'utf8')) + lines.join(''), { mode: 0o644 });
}

async function firstProcess(unshare: ChildProcess): Promise<number> {
  const path = `/proc/${unshare.pid}/task/${unshare.pid}/children`;
  const end = Date.now() + 10_000;
  while (Date.now() < end) {
    const pid = Number(readFileSync(path, 'utf8').trim());
    if (pid > 0) return pid;
    await sleep(10);
  }
  throw new Error('unshare started nothing');
}
