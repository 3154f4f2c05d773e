import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureAccount, type Account } from '../site/accounts.ts';
import { publicDirectory } from '../site/directories.ts';
import { withLock } from '../site/lock.ts';
import { ensurePackages } from '../site/debian-packages.ts';
import { installDirectory } from '../site/portal.ts';
import { freePorts } from '../free-ports.ts';
import { say } from '../site/progress.ts';
import { removeTestCgroups } from '../site/test-cgroups.ts';
import { waitFor } from '../wait-for.ts';
import {
  run,
  type ClientOptions,
  type ClientResult,
} from '../../../src/companions/verify/run-client.ts';
import {
  LdapDirectory,
  ldapAccounts,
  ldapPackages,
  writeLdapFiles,
  type LdapDirectoryOptions,
} from './ldap-directory.ts';
import { keyOf, writeHostFiles, type HostFiles } from './host-files.ts';
import { firstProcess, inNetwork, startHostProcess } from './host-namespaces.ts';
import { testImageStore } from './image-store.ts';
import type { LoginMode } from './sshd-config.ts';
import { runningHosts } from './running-hosts.ts';

type Profiles = Readonly<Record<string, object>>;

export interface SshHostOptions {
  readonly mode: LoginMode;
  /** The host's name; default `login1`. */
  readonly name?: string;
  /** IPv4 address of sshd; default 127.0.0.1. */
  readonly address?: string;
  /** Path of a network namespace; default: the machine's. */
  readonly network?: string;
  /**
   * Another node of the same site: this host has its port, accounts, homes, keys and host key, as with a file server.
   * It needs another `address` and `name`, and the same `mode`; `users` has no effect. It must stop before the other.
   */
  readonly beside?: SshHost;
  /** Keys of `/etc/berth/ssh.yml` that override `standardSshYml`. */
  readonly sshYml?: object;
  /** `/etc/berth/profiles/NAME.yml`; default: one profile `base`. A function gets the directory with `homes/USER`. */
  readonly profiles?: Profiles | ((directory: string) => Profiles);
  /** Further files, by path relative to /etc. */
  readonly etc?: Readonly<Record<string, string>>;
  /** Lines of sshd_config, which take precedence over the defaults; `Match` blocks are allowed. */
  readonly sshd?: string;
  /** Lines appended to Debian's /etc/pam.d/sshd; default: Berth's `hooks/pam-session`. */
  readonly pam?: string;
  /** The users who can log in, with their supplementary groups; default: `ada` and `bob`. */
  readonly users?: Readonly<Record<string, readonly string[]>>;
  /** The image store at /var/lib/berth-ssh/images; default: `testImageStore()`; false: none. */
  readonly images?: string | false;
  /** Users and groups in an LDAP directory; these users can log in too. */
  readonly ldap?: LdapDirectoryOptions;
}

interface HostParts {
  readonly name: string;
  readonly address: string;
  readonly port: number;
  readonly network: string | undefined;
  readonly directory: string;
  readonly sharedDirectory: string;
  readonly users: readonly Account[];
  readonly mode: LoginMode;
  readonly images: string;
}

const packages = [
  ...['openssh-server', 'openssh-client', 'rsyslog', 'podman', 'crun', 'uidmap', 'slirp4netns'],
  ...['catatonit', 'fuse-overlayfs', 'iproute2', 'xauth', 'procps'],
];

/**
 * A login node: sshd, syslog and PAM in their own mount, PID and UTS namespaces, with their own /etc, /run, /dev,
 * homes and Berth directories. The network is the machine's, or that of a test: sshd listens on a loopback port, or
 * on an address of that network. Several login nodes can run at the same time, with the same users.
 */
export class SshHost {
  readonly name: string;
  readonly address: string;
  readonly port: number;
  /** Path of the network namespace; undefined: the machine's. */
  readonly network: string | undefined;
  /** Directory of the host's files, owned by root; the host mounts parts of it. */
  readonly directory: string;
  /** Directory with `homes` and `keys`: that of the host or of the one that it is beside. */
  readonly sharedDirectory: string;
  readonly users: readonly Account[];
  readonly mode: LoginMode;
  readonly #images: string;
  #init: number;
  #ldap: LdapDirectory | undefined;
  #unshare: ChildProcess;

  private constructor(from: HostParts, { init, unshare }: StartedProcesses) {
    this.name = from.name;
    this.address = from.address;
    this.port = from.port;
    this.network = from.network;
    this.directory = from.directory;
    this.sharedDirectory = from.sharedDirectory;
    this.users = from.users;
    this.mode = from.mode;
    this.#images = from.images;
    this.#init = init;
    this.#unshare = unshare;
  }

  /** Starts a login node. @throws Error with the host's output if its sshd does not answer */
  static async start(options: SshHostOptions): Promise<SshHost> {
    const { ldap, mode, beside, name = 'login1', address = '127.0.0.1', network } = options;
    await ensurePackages([...packages, ...(ldap === undefined ? [] : ldapPackages)]);
    const { port } = beside ?? (await freePorts(['port']));
    await mkdir(publicDirectory, { recursive: true });
    const directory = await mkdtemp(join(publicDirectory, 'ssh-host-'));
    await run('chmod', ['0755', directory]);
    const sharedDirectory = beside?.sharedDirectory ?? directory;
    const shell = join(installDirectory, 'shell/login');
    // Another test may change the groups of the same accounts, so they are locked until they are copied.
    const waiting = (): void => say('… another test is creating its accounts');
    const users = await withLock('/run/lock/berth-test-hosts.lock', waiting, async () => {
      const made = beside?.users ?? (await createAccounts(options));
      const parts = { ...{ name, address, directory, sharedDirectory }, port, shell, users: made };
      await writeHostFiles(directory, hostFiles(options, parts));
      return made;
    });
    if (ldap !== undefined)
      await writeLdapFiles(directory, ldap, mode === 'login-shell' ? shell : undefined);
    const images =
      options.images === false ? '' : (options.images ?? (await testImageStore()).store);
    const parts = { name, address, port, network, directory, sharedDirectory, users, mode, images };
    const host = new SshHost(parts, await startProcesses(parts));
    runningHosts.add(host);
    if (ldap !== undefined) host.#ldap = await LdapDirectory.start(host);
    return host;
  }

  /** PID of the host's first process in the test's PID namespace; /proc/PID/root is the host's root directory. */
  get init(): number {
    return this.#init;
  }

  /** Path of a user's private key. */
  key(user: string): string {
    return keyOf(this.sharedDirectory, user);
  }

  /** Options for OpenSSH's clients with the user's key and the host's key, without port and user. */
  clientOptions(user: string): string[] {
    return [
      ...['-F', '/dev/null', '-i', this.key(user), '-o', 'IdentitiesOnly=yes'],
      ...['-o', 'BatchMode=yes', '-o', `UserKnownHostsFile=${join(this.directory, 'known_hosts')}`],
    ];
  }

  /** Runs OpenSSH's client; `args` are further options, then the command. */
  ssh(user: string, args: readonly string[], options?: ClientOptions): Promise<ClientResult> {
    const destination = ['-p', String(this.port), `${user}@${this.address}`];
    const argv = ['ssh', ...this.clientOptions(user), ...destination, ...args];
    const [file = '', ...words] = inNetwork(this.network, argv);
    return run(file, words, options);
  }

  /** A command line that runs as root on the host. The command ends with nsenter(1) only if it watches its parent. */
  entered(argv: readonly string[]): string[] {
    const namespaces = ['--mount', '--net', '--pid', '--uts', '--wd=/'];
    return ['nsenter', '--target', String(this.init), ...namespaces, '--', ...argv];
  }

  /** Runs a command as root on the host. */
  asRoot(argv: readonly string[], options?: ClientOptions): Promise<ClientResult> {
    const [file = '', ...words] = this.entered(argv);
    return run(file, words, options);
  }

  /** Runs a command on the host as a user, with the environment that PAM and logind would set. */
  asUser(user: string, argv: readonly string[], options?: ClientOptions): Promise<ClientResult> {
    const { uid, home } = this.account(user);
    const environment = [
      ...[`HOME=${home}`, `USER=${user}`, `LOGNAME=${user}`, 'PATH=/usr/local/bin:/usr/bin:/bin'],
      `XDG_RUNTIME_DIR=/run/user/${uid}`,
    ];
    return this.asRoot(
      ['runuser', '-u', user, '--', 'env', '-C', home, '-i', ...environment, ...argv],
      options,
    );
  }

  account(user: string): Account {
    const found = this.users.find(({ name }) => name === user);
    if (found === undefined) throw new Error(`this host has no user ${user}`);
    return found;
  }

  /** The host's LDAP directory. @throws Error if it was started without one */
  get ldap(): LdapDirectory {
    if (this.#ldap === undefined) throw new Error('this host has no LDAP directory');
    return this.#ldap;
  }

  /** The path by which the test can access a file of the host. */
  path(onHost: string): string {
    return join(`/proc/${this.init}/root`, onHost);
  }

  /** The host's syslog: messages of sshd, PAM and Berth. */
  async log(): Promise<string> {
    return readFile(join(this.directory, 'syslog'), 'utf8').catch(() => '');
  }

  /** Kills all processes at once, as if the power failed. What is on the disk stays: homes, storage, syslog. */
  async kill(): Promise<void> {
    const exited = once(this.#unshare, 'exit');
    process.kill(this.#init, 'SIGKILL');
    await exited;
  }

  /** Starts the host again after `kill`, with an empty /run, as after a reboot. */
  async boot(): Promise<void> {
    const { init, unshare } = await startProcesses({
      ...{ directory: this.directory, address: this.address, port: this.port },
      ...{ network: this.network, images: this.#images },
    });
    this.#init = init;
    this.#unshare = unshare;
  }

  /** Stops sshd's listening process: the kernel still accepts connections, and nobody answers. */
  async hang(): Promise<void> {
    await this.#signalListener('STOP');
  }

  async continueAfterHang(): Promise<void> {
    await this.#signalListener('CONT');
  }

  /** Ends sshd's listening process, as `systemctl stop` with `KillMode=process` does: open connections stay. */
  async stopListening(): Promise<void> {
    await this.#signalListener('TERM');
    await waitFor({ what: 'sshd to stop listening', timeoutMs: 60_000, everyMs: 20 }, async () =>
      (await this.asRoot(['test', '-e', '/run/sshd.pid'])).exitCode === 1 ? true : undefined,
    );
  }

  /** Starts sshd again after `stopListening`. */
  async listen(): Promise<void> {
    const { exitCode, stderr } = await this.asRoot(['/usr/sbin/sshd']);
    if (exitCode !== 0) throw new Error(`sshd of ${this.name} did not start: ${stderr}`);
  }

  async #signalListener(signal: string): Promise<void> {
    const script = `kill -${signal} "$(cat /run/sshd.pid)"`;
    const { exitCode, stderr } = await this.asRoot(['sh', '-c', script]);
    if (exitCode !== 0) throw new Error(`${signal} to sshd of ${this.name}: ${stderr}`);
  }

  /** Stops the host with all its processes and mounts, and removes its directory, unless that has been done. */
  async stop(): Promise<void> {
    if (!runningHosts.delete(this)) return;
    if (this.#unshare.exitCode === null && this.#unshare.signalCode === null) {
      const exited = once(this.#unshare, 'exit');
      this.#unshare.stdin?.end();
      // A time limit: the host waits for its processes, and one that is being traced does not exit.
      const timer = setTimeout(() => this.#unshare.kill('SIGKILL'), 20_000);
      await exited;
      clearTimeout(timer);
    }
    await removeTestCgroups(this.directory);
    await rm(this.directory, { recursive: true, force: true });
  }
}

interface StartedProcesses {
  readonly unshare: ChildProcess;
  readonly init: number;
}

async function startProcesses(
  on: Pick<HostParts, 'directory' | 'address' | 'port' | 'network' | 'images'>,
): Promise<StartedProcesses> {
  const unshare = await startHostProcess(on);
  try {
    return { unshare, init: await firstProcess(unshare, on) };
  } catch (error) {
    unshare.kill('SIGKILL');
    throw error;
  }
}

/** The default ssh.yml. */
export const standardSshYml = {
  rules: [{ profile: 'base' }],
  podman: {
    runtime: '/usr/bin/crun',
    cgroup_manager: 'cgroupfs',
    mount_program: '/usr/bin/fuse-overlayfs',
  },
};

/** The default profile. */
/** A container that ends with the user's last connection. */
export const sharedProfile = {
  ...{ image: 'localhost/berth-site:1', pull: 'never', network: 'host' },
  ...{ lifetime: 'user', grace: '0s', mounts: [{ source: '$HOME' }] },
};

export const standardProfile = {
  image: 'localhost/berth-site:1',
  pull: 'never',
  network: 'host',
  lifetime: 'connection',
  x11: true,
  agent: true,
  mounts: [{ source: '$HOME' }],
};

async function createAccounts({ users, ldap }: SshHostOptions): Promise<Account[]> {
  const accounts: Account[] = [];
  for (const [name, groups] of Object.entries(users ?? { ada: [], bob: [] }))
    accounts.push(await ensureAccount(name, { groups }));
  return ldap === undefined ? accounts : [...accounts, ...ldapAccounts(ldap)];
}

function hostFiles(
  { mode, profiles = { base: standardProfile }, beside, ...options }: SshHostOptions,
  parts: Pick<HostParts, 'name' | 'address' | 'port' | 'sharedDirectory' | 'users'> & {
    readonly shell: string;
  },
): HostFiles {
  const { name, address, port, sharedDirectory, users, shell } = parts;
  return {
    name,
    sshd: {
      ...{ address, port, mode, users, extraLines: options.sshd ?? '' },
      login: `${shell} --config /etc/berth/ssh.yml`,
    },
    sshYml: { ...standardSshYml, ...options.sshYml },
    profiles: typeof profiles === 'function' ? profiles(sharedDirectory) : profiles,
    etc: options.etc ?? {},
    pam: options.pam ?? (mode === 'plain' ? '' : pamLine()),
    ...(mode === 'login-shell' ? { shell } : {}),
    ...(beside === undefined ? {} : { beside: beside.directory }),
  };
}

function pamLine(): string {
  const hook = join(installDirectory, 'hooks/pam-session');
  return existsSync(hook) ? `session optional pam_exec.so quiet ${hook}` : '';
}
