import { existsSync } from 'node:fs';
import {
  chmod,
  chown,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { berthDocument } from '../../rig/berth-document.ts';
import type {
  SshdFindingCode,
  SshdSeverity,
} from '../../../src/setup/sshd-lint/rules/sshd-finding.ts';
import { ensurePackages } from '../../rig/site/debian-packages.ts';
import { installDirectory } from '../../rig/site/portal.ts';

/** An account of the test host; the machine does not have it. */
export interface LintHostUser {
  readonly name: string;
  readonly uid: number;
  /** `LOGIN` stands for the login program, `HOME` for the home. */
  readonly shell: string;
  readonly groups?: readonly string[];
  /** Name of the primary group, which lists no members; default: the account's name. */
  readonly primary?: string;
}

/** Without a UID, one of a regular user is chosen. */
type NewUser = Omit<LintHostUser, 'uid'> & { readonly uid?: number };

export interface LintResult {
  readonly exitCode: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
  /** All codes that were reported, sorted. */
  readonly codes: readonly SshdFindingCode[];
  readonly severities: Readonly<Partial<Record<SshdFindingCode, SshdSeverity>>>;
  readonly report: Report | undefined;
}

interface Report {
  readonly samples: readonly {
    user: string;
    refusedBy?: string;
    endpoint: { address: string; localPort: number };
    findings: readonly Reported[];
  }[];
  readonly host: readonly Reported[];
  readonly matches: readonly Reported[];
}

interface Reported {
  readonly code: SshdFindingCode;
  readonly severity: SshdSeverity;
  readonly message: string;
  readonly closedBy: string;
  readonly place?: string;
}

/**
 * A login node for sshd: its own passwd, group, PAM and sshd directories, in a mount namespace. Its login program is a
 * stand-in, which prints that it was reached and with what.
 */
export class LintHost {
  readonly directory: string;
  readonly users: readonly LintHostUser[];

  private constructor(directory: string, users: readonly LintHostUser[]) {
    this.directory = directory;
    this.users = users;
  }

  static async make(users: readonly NewUser[]): Promise<LintHost> {
    await ensurePackages(['openssh-server', 'openssh-client', 'openssh-sftp-server', 'xauth']);
    const directory = await mkdtemp(join(tmpdir(), 'berth-lint-'));
    await chmod(directory, 0o755);
    const login = join(directory, 'login');
    const host = new LintHost(
      directory,
      users.map((user, index) => ({
        uid: 47_001 + index,
        ...user,
        shell: user.shell
          .replace('LOGIN', login)
          .replace('HOME', join(directory, 'home', user.name)),
      })),
    );
    await host.writeEtc();
    await host.write('login', standIn, 0o755);
    await host.write('ssh.yml', `profiles_dir: ${join(directory, 'profiles')}\n`);
    await host.write('profiles/normal.yml', 'image: registry.invalid/site:1\nnetwork: host\n');
    await host.write('hooks/pam-session', hookStandIn(directory), 0o755);
    await host.write('etc/pam.d/sshd', host.pam(''));
    await mkdir(join(directory, 'keys'));
    for (const key of ['host_key', ...users.map(({ name }) => `keys/${name}`)])
      await execa('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(directory, key)]);
    return host;
  }

  /** A line of PAM that runs pam-session at open and at close. */
  get sessionLine(): string {
    return `session optional pam_exec.so quiet ${this.path('hooks/pam-session')}`;
  }

  /** A correct PAM stack, followed by `more`. */
  pam(more: string, session = this.sessionLine): string {
    return [
      'auth required pam_permit.so',
      'account required pam_permit.so',
      'session required pam_permit.so',
      session,
      more,
      '',
    ].join('\n');
  }

  /** The runs of pam-session since the last call: `open_session`, `close_session`. */
  async hookRuns(): Promise<string[]> {
    const path = this.path('hook.log');
    const text = await readFile(path, 'utf8').catch(() => '');
    await rm(path, { force: true });
    return text.split('\n').filter((line) => line !== '');
  }

  path(name: string): string {
    return join(this.directory, name);
  }

  homeOf(user: string): string {
    return this.path(`home/${user}`);
  }

  async write(name: string, text: string, mode = 0o644): Promise<string> {
    const path = this.path(name);
    await mkdir(dirname(path), { recursive: true, mode: 0o755 });
    await writeFile(path, text, { mode });
    await chmod(path, mode);
    return path;
  }

  /** Writes a file of the user in the home. */
  async writeInHome(user: string, name: string, text: string, mode = 0o600): Promise<string> {
    const path = join(this.homeOf(user), name);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeFile(path, text, { mode });
    await chmod(path, mode);
    const { uid } = this.userOf(user);
    for (let part = path; part.length > this.homeOf(user).length; part = dirname(part))
      await chown(part, uid, uid);
    return path;
  }

  /** Authorizes the user's key, with options of authorized_keys(5). */
  async allowKey(user: string, options = ''): Promise<void> {
    const key = (await readFile(this.path(`keys/${user}.pub`), 'utf8')).trim();
    await this.writeInHome(user, '.ssh/authorized_keys', `${options} ${key}\n`.trimStart());
  }

  /** What the user's code wrote into `~/proof` if it ran on this host. Removes the file. */
  async proof(user: string): Promise<string | undefined> {
    const path = join(this.homeOf(user), 'proof');
    const text = await readFile(path, 'utf8').catch(() => undefined);
    await rm(path, { force: true });
    return text;
  }

  async cleanHomes(): Promise<void> {
    for (const { name } of this.users)
      for (const file of await readdir(this.homeOf(name)))
        await rm(join(this.homeOf(name), file), { recursive: true, force: true });
  }

  userOf(name: string): LintHostUser {
    const user = this.users.find((one) => one.name === name);
    if (user === undefined) throw new Error(`no user ${name}`);
    return user;
  }

  /** One of the examples in etc/sshd, with the login program of this host. */
  async example(name: 'forced-command' | 'login-shell'): Promise<string> {
    const text = await readFile(new URL(`../../../etc/sshd/${name}.conf`, import.meta.url), 'utf8');
    return `HostKey ${this.path('host_key')}\n${this.withLogin(text)}`;
  }

  withLogin(text: string): string {
    return text.replaceAll('/usr/lib/berth/shell/login', this.path('login'));
  }

  /** Runs `berth sshd lint` for this configuration, as root of this host. */
  async lint(config: string, ...args: string[]): Promise<LintResult> {
    const file = await this.write('sshd_config', config);
    const login = args.includes('--login') ? [] : ['--login', this.path('login')];
    const given = ['--sshd-config', file, ...login, '--config-dir', this.directory, '-o', 'json'];
    const answer = await this.berth('sshd', 'lint', ...given, ...args);
    // A linter that failed has reported nothing either.
    if (answer.report === undefined) throw new Error(`berth sshd lint: ${answer.stderr}`);
    return answer;
  }

  async berth(...args: string[]): Promise<LintResult> {
    const { command, words } = this.inside([join(installDirectory, 'berth'), ...args]);
    const { exitCode, stdout, stderr } = await execa(command, words, {
      reject: false,
      input: '',
      cwd: this.directory,
      // From the admin's environment; it must not reach sshd or change the findings.
      env: { BASH_ENV: '/nonexistent', LC_ALL: 'C.UTF-8' },
    });
    const report = stdout.startsWith('{') ? (berthDocument(stdout) as Report) : undefined;
    const all = [
      ...(report?.host ?? []),
      ...(report?.matches ?? []),
      ...(report?.samples ?? []).flatMap(({ findings }) => findings),
    ];
    return {
      ...{ exitCode, stdout, stderr, report },
      codes: [...new Set(all.map(({ code }) => code))].sort(),
      severities: Object.fromEntries(all.map(({ code, severity }) => [code, severity])),
    };
  }

  /** A command line that runs a program on this host. */
  inside(argv: readonly string[]): { readonly command: string; readonly words: string[] } {
    const script = [
      // The whole directory: a mount on /etc/passwd alone ends when useradd replaces the machine's file.
      'mount --bind "$0/etc" /etc',
      'mount -t tmpfs -o mode=0755 tmpfs /run',
      'mkdir -m 0755 /run/sshd',
      'exec "$@"',
    ].join(' && ');
    return {
      command: 'unshare',
      words: ['--mount', '--propagation', 'private', 'sh', '-c', script, this.directory, ...argv],
    };
  }

  async remove(): Promise<void> {
    await rm(this.directory, { recursive: true, force: true });
  }

  private async writeEtc(): Promise<void> {
    for (const name of fromHost.filter((one) => existsSync(`/etc/${one}`)))
      await cp(`/etc/${name}`, this.path(`etc/${name}`), { recursive: true, dereference: true });
    await mkdir(this.path('etc/ssh'));
    const lines = this.users.map(
      ({ name, uid, shell }) => `${name}:x:${uid}:${uid}::${this.homeOf(name)}:${shell}`,
    );
    const groups = new Set(this.users.flatMap(({ groups = [] }) => groups));
    await this.write(
      'etc/passwd',
      [
        'root:x:0:0:root:/root:/bin/bash',
        'sshd:x:101:65534::/run/sshd:/usr/sbin/nologin',
        'nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin',
        ...lines,
        '',
      ].join('\n'),
    );
    await this.write(
      'etc/group',
      [
        ...['root:x:0:', 'tty:x:5:', 'nogroup:x:65534:'],
        ...this.users.map(({ name, uid, primary = name }) => `${primary}:x:${uid}:`),
        ...[...groups].map((group, index) => {
          const members = this.users.filter((user) => user.groups?.includes(group) === true);
          return `${group}:x:${48_001 + index}:${members.map(({ name }) => name).join(',')}`;
        }),
        '',
      ].join('\n'),
    );
    // `*`: no valid password, but not locked.
    const shadow = ['root', ...this.users.map(({ name }) => name)].map(
      (n) => `${n}:*:20000:::::::\n`,
    );
    await this.write('etc/shadow', shadow.join(''), 0o600);
    for (const { name, uid } of this.users) {
      await mkdir(this.homeOf(name), { recursive: true, mode: 0o755 });
      await chmod(this.homeOf(name), 0o700);
      await chown(this.homeOf(name), uid, uid);
    }
  }
}

/**
 * What programs of the machine read below /etc. Only these are copied: other tests create and remove files in /etc at
 * the same time, such as the lock files of useradd.
 */
const fromHost = [
  ...['bash.bashrc', 'csh.cshrc', 'csh.login', 'environment', 'hostname', 'hosts', 'ld.so.cache'],
  ...[
    'localtime',
    'login.defs',
    'nsswitch.conf',
    'profile',
    'security',
    'services',
    'shells',
    'zsh',
  ],
];

/** Prints that the login program was reached, and with what. */
const standIn = `#!/bin/sh
printf 'INSIDE args=%s original=%s\\n' "$*" "$SSH_ORIGINAL_COMMAND"
exit 3
`;

/** Records when PAM ran it. */
const hookStandIn = (directory: string) => `#!/bin/sh\necho "$PAM_TYPE" >> ${directory}/hook.log\n`;
