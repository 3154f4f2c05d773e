import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdir, mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { ensureAccount, type Account } from '../site/accounts.ts';
import { homesFolder, publicFolder } from '../site/folders.ts';
import { withLock } from '../site/lock.ts';
import { ensurePackages } from '../site/packages.ts';
import { installed } from '../site/portal.ts';
import { freePorts } from '../site/ports.ts';
import { say } from '../site/progress.ts';
import { waitFor } from '../site/wait.ts';
import { run, type ClientOptions, type ClientResult } from './client.ts';
import {
  Directory,
  directoryAccounts,
  directoryPackages,
  writeDirectory,
  type DirectoryOptions,
} from './directory.ts';
import { keyOf, writeHostFiles, type HostFiles } from './host-files.ts';
import { testImages } from './image-store.ts';
import type { LoginMode } from './sshd-config.ts';

type Profiles = Readonly<Record<string, object>>;

export interface SshHostOptions {
  readonly mode: LoginMode;
  /** Keys of `/etc/berth/ssh.yml`, added to those of every test. */
  readonly sshYml?: object;
  /** `/etc/berth/profiles/NAME.yml`; by default one, `base`. A function gets the host's directory. */
  readonly profiles?: Profiles | ((folder: string) => Profiles);
  /** Other files, by path below /etc. */
  readonly etc?: Readonly<Record<string, string>>;
  /** Lines of sshd_config that take precedence; may contain `Match` blocks. */
  readonly sshd?: string;
  /** Lines after those of Debian's /etc/pam.d/sshd; by default those of `hooks/pam-session`. */
  readonly pam?: string;
  /** Users who can log in, with their supplementary groups; by default `ada` and `bob`. */
  readonly users?: Readonly<Record<string, readonly string[]>>;
  /** The image store at /var/lib/berth-ssh/images; by default `testImages()`, none if false. */
  readonly images?: string | false;
  /** Users and groups that only LDAP has; they can log in too. */
  readonly directory?: DirectoryOptions;
}

const packages = [
  ...['openssh-server', 'openssh-client', 'rsyslog', 'podman', 'crun', 'uidmap', 'slirp4netns'],
  ...['catatonit', 'fuse-overlayfs', 'xauth', 'procps'],
];

/**
 * A login node: the real sshd, syslog and PAM in their own mount, PID and UTS namespaces, with their own /etc, /run, /dev,
 * homes and directories of Berth. The network is that of the machine: sshd listens on a loopback port. Several can run
 * side by side with the same users.
 */
export class SshHost {
  readonly port: number;
  /** Belongs to root; files for users of the host are readable for them. */
  readonly folder: string;
  readonly users: readonly Account[];
  readonly mode: LoginMode;
  /** PID of the host's first process on the machine: /proc/INIT/root is the root directory of the host. */
  readonly init: number;
  #directory: Directory | undefined;
  readonly #unshare: ChildProcess;

  private constructor(
    from: Pick<SshHost, 'port' | 'folder' | 'users' | 'mode'>,
    init: number,
    unshare: ChildProcess,
  ) {
    this.port = from.port;
    this.folder = from.folder;
    this.users = from.users;
    this.mode = from.mode;
    this.init = init;
    this.#unshare = unshare;
  }

  /** @throws {Error} with the host's output if sshd does not answer */
  static async start(options: SshHostOptions): Promise<SshHost> {
    const { directory, mode } = options;
    await ensurePackages([...packages, ...(directory === undefined ? [] : directoryPackages)]);
    const { port } = await freePorts(['port']);
    await mkdir(publicFolder, { recursive: true });
    const folder = await mkdtemp(join(publicFolder, 'ssh-host-'));
    await run('chmod', ['0755', folder]);
    const shell = join(installed, 'shell/login');
    // Another test may need the same names in other groups, so the accounts are locked until they are copied.
    const waiting = (): void => say('… another test makes its accounts');
    const users = await withLock('/run/lock/berth-test-hosts.lock', waiting, async () => {
      const made = await accountsOf(options);
      await writeHostFiles(folder, await hostFiles(options, { folder, port, shell, users: made }));
      return made;
    });
    if (directory !== undefined)
      await writeDirectory(folder, directory, mode === 'login-shell' ? shell : undefined);
    const images = options.images === false ? '' : (options.images ?? (await testImages()).store);
    const unshare = await startInit(folder, images);
    try {
      const init = await initOf(unshare, folder, port);
      const host = new SshHost({ port, folder, users, mode }, init, unshare);
      if (directory !== undefined) host.#directory = await Directory.start(host);
      return host;
    } catch (error) {
      unshare.kill('SIGKILL');
      throw error;
    }
  }

  /** Path of a user's private key. */
  key(user: string): string {
    return keyOf(this.folder, user);
  }

  /** Options of OpenSSH's clients with which this host is known, without port and user. */
  clientOptions(user: string): string[] {
    return [
      ...['-F', '/dev/null', '-i', this.key(user), '-o', 'IdentitiesOnly=yes'],
      ...['-o', 'BatchMode=yes', '-o', `UserKnownHostsFile=${join(this.folder, 'known_hosts')}`],
    ];
  }

  /** Runs OpenSSH's client; `args` may have options before the command. */
  ssh(user: string, args: readonly string[], options?: ClientOptions): Promise<ClientResult> {
    const destination = ['-p', String(this.port), `${user}@127.0.0.1`];
    return run('ssh', [...this.clientOptions(user), ...destination, ...args], options);
  }

  /** Runs a command as root on the host. */
  inside(argv: readonly string[], options?: ClientOptions): Promise<ClientResult> {
    return run('nsenter', [...this.#enter, '--', ...argv], options);
  }

  /** Runs a command on the host as a user, with the environment that PAM and logind would set. */
  asUser(user: string, argv: readonly string[], options?: ClientOptions): Promise<ClientResult> {
    const { uid, home } = this.account(user);
    const environment = [
      ...[`HOME=${home}`, `USER=${user}`, `LOGNAME=${user}`, 'PATH=/usr/local/bin:/usr/bin:/bin'],
      `XDG_RUNTIME_DIR=/run/user/${uid}`,
    ];
    return this.inside(
      ['runuser', '-u', user, '--', 'env', '-C', home, '-i', ...environment, ...argv],
      options,
    );
  }

  account(user: string): Account {
    const found = this.users.find(({ name }) => name === user);
    if (found === undefined) throw new Error(`${user} is no user of this host`);
    return found;
  }

  /** slapd and nslcd of this host, if the options have `directory`. */
  get directory(): Directory {
    if (this.#directory === undefined) throw new Error('this host has no directory');
    return this.#directory;
  }

  /** The path on the machine of a file of the host, for example in a home or in /run. */
  path(onHost: string): string {
    return join(`/proc/${this.init}/root`, onHost);
  }

  /** What sshd, PAM and Berth have logged so far. */
  async log(): Promise<string> {
    return readFile(join(this.folder, 'syslog'), 'utf8').catch(() => '');
  }

  /** Ends the host with all its processes and mounts, and removes its directory. */
  async stop(): Promise<void> {
    if (this.#unshare.exitCode === null && this.#unshare.signalCode === null) {
      const gone = once(this.#unshare, 'exit');
      this.#unshare.stdin?.end();
      // With a limit, because a process under a debugger does not die, and the host waits for it.
      const timer = setTimeout(() => this.#unshare.kill('SIGKILL'), 20_000);
      await gone;
      clearTimeout(timer);
    }
    await rm(this.folder, { recursive: true, force: true });
  }

  get #enter(): string[] {
    return ['--target', String(this.init), '--mount', '--pid', '--uts', '--wd=/'];
  }
}

/** The ssh.yml of every test. */
export const standardSshYml = {
  rules: [{ profile: 'base' }],
  podman: {
    runtime: '/usr/bin/crun',
    cgroup_manager: 'cgroupfs',
    mount_program: '/usr/bin/fuse-overlayfs',
  },
};

/** The default profile of the tests. */
export const standardProfile = {
  image: 'localhost/berth-site:1',
  pull: 'never',
  network: 'host',
  lifetime: 'connection',
  x11: true,
  agent: true,
  mounts: [{ source: '$HOME' }],
};

async function accountsOf({ users, directory }: SshHostOptions): Promise<Account[]> {
  const accounts: Account[] = [];
  for (const [name, groups] of Object.entries(users ?? { ada: [], bob: [] }))
    accounts.push(await ensureAccount(name, { groups }));
  return directory === undefined ? accounts : [...accounts, ...directoryAccounts(directory)];
}

async function hostFiles(
  { mode, profiles = { base: standardProfile }, ...options }: SshHostOptions,
  { folder, port, shell, users }: Pick<SshHost, 'folder' | 'port' | 'users'> & { shell: string },
): Promise<HostFiles> {
  return {
    sshd: {
      ...{ port, mode, users, extra: options.sshd ?? '' },
      login: `${shell} --config /etc/berth/ssh.yml`,
    },
    sshYml: { ...standardSshYml, ...options.sshYml },
    profiles: typeof profiles === 'function' ? profiles(folder) : profiles,
    etc: options.etc ?? {},
    pam: options.pam ?? (mode === 'plain' ? '' : await pamLine()),
    ...(mode === 'login-shell' ? { shell } : {}),
  };
}

async function pamLine(): Promise<string> {
  const hook = join(installed, 'hooks/pam-session');
  const exists = await access(hook).then(
    () => true,
    () => false,
  );
  return exists ? `session optional pam_exec.so quiet ${hook}` : '';
}

async function startInit(folder: string, images: string): Promise<ChildProcess> {
  await mkdir(homesFolder, { recursive: true });
  const output = await open(join(folder, 'init.log'), 'a', 0o600);
  try {
    const script = new URL('init.sh', import.meta.url).pathname;
    const namespaces = ['--mount', '--pid', '--uts', '--fork', '--kill-child'];
    const child = spawn('unshare', [...namespaces, 'bash', script, folder, homesFolder, images], {
      stdio: ['pipe', output.fd, output.fd],
      cwd: '/',
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
    });
    await once(child, 'spawn');
    return child;
  } finally {
    await output.close();
  }
}

/** Waits until sshd answers. @returns The PID of the host's first process. */
async function initOf(unshare: ChildProcess, folder: string, port: number): Promise<number> {
  const said = () => readFile(join(folder, 'init.log'), 'utf8').catch(() => '');
  await waitFor(
    {
      ...{ what: 'sshd to answer', timeoutMs: 20_000, everyMs: 20 },
      alive: async () => {
        if (unshare.exitCode !== null) throw new Error(`the host ended: ${await said()}`);
      },
    },
    () => answers(port),
  );
  const children = await readFile(`/proc/${unshare.pid}/task/${unshare.pid}/children`, 'utf8');
  return Number(children.trim());
}

function answers(port: number): Promise<true | undefined> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('data', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(undefined));
  });
}
