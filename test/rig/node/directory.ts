/** The directory service of a test host: a real slapd, and nslcd, through which NSS of the host asks it. */
import { execFile } from 'node:child_process';
import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { homeOf, type Account } from '../site/accounts.ts';
import { waitFor } from '../site/wait.ts';
import type { ClientResult } from './client.ts';
import type { SshHost } from './ssh-host.ts';

export interface DirectoryOptions {
  /** GIDs by name, of supplementary and primary groups. */
  readonly groups: Readonly<Record<string, number>>;
  readonly users: Readonly<Record<string, DirectoryUser>>;
}

export interface DirectoryUser {
  readonly uid: number;
  /** Group names; the first is the primary group. */
  readonly groups: readonly [string, ...string[]];
  /** /bin/bash by default. */
  readonly shell?: string;
}

export const directoryPackages = ['slapd', 'ldap-utils', 'libnss-ldapd', 'nslcd'];

/** How long nslcd waits for slapd. Seconds. */
export const nslcdWaits = 2;

const base = 'dc=site,dc=test';
const admin = `cn=admin,${base}`;
/** In the host's own /run, so only that host reaches it. */
const password = 'nobody-listens';
const socket = 'ldapi://%2Frun%2Fslapd%2Fldapi';

/** The accounts as lines of passwd(5). */
export function directoryAccounts({ users, groups }: DirectoryOptions): Account[] {
  return Object.entries(users).map(([name, user]) => ({
    ...{ name, uid: user.uid, gid: gidOf(groups, user.groups[0]), home: homeOf(name) },
  }));
}

/** Writes files of /etc and of slapd before the host starts. */
export async function writeDirectory(
  folder: string,
  options: DirectoryOptions,
  shell: string | undefined,
): Promise<void> {
  const own = join(folder, 'directory');
  await mkdir(join(own, 'data'), { recursive: true, mode: 0o700 });
  await writeFile(join(own, 'slapd.conf'), slapdConf(own));
  await writeFile(join(own, 'site.ldif'), ldif(options, shell));
  await promisify(execFile)('/usr/sbin/slapadd', [
    ...['-f', join(own, 'slapd.conf'), '-l', join(own, 'site.ldif')],
  ]);
  await appendFile(join(folder, 'etc/nsswitch.conf'), nsswitch);
  await writeFile(join(folder, 'etc/nslcd.conf'), nslcdConf, { mode: 0o644 });
}

export class Directory {
  readonly #host: SshHost;

  private constructor(host: SshHost) {
    this.#host = host;
  }

  /** Starts both on the host; they run in its PID namespace and end with it. */
  static async start(host: SshHost): Promise<Directory> {
    const directory = new Directory(host);
    await host.inside(['install', '-d', '-m', '0755', '/run/slapd']);
    await host.inside(['install', '-d', '-o', 'nslcd', '-g', 'nslcd', '/run/nslcd']);
    await directory.startSlapd();
    await directory.#run(['/usr/sbin/nslcd']);
    const some = String(host.users.at(-1)?.uid);
    await waitFor({ what: 'nslcd to answer', timeoutMs: 20_000, everyMs: 50 }, async () =>
      (await host.inside(['getent', 'passwd', some])).exitCode === 0 ? true : undefined,
    );
    return directory;
  }

  async startSlapd(): Promise<void> {
    const conf = join(this.#host.folder, 'directory/slapd.conf');
    await this.#run(['/usr/sbin/slapd', '-h', socket, '-f', conf]);
  }

  /** Removes a user from a group. */
  async leave(user: string, group: string): Promise<void> {
    const change = [
      ...[`dn: cn=${group},ou=groups,${base}`, 'changetype: modify', 'delete: memberUid'],
      ...[`memberUid: ${user}`, ''],
    ].join('\n');
    await this.#run(['ldapmodify', '-H', socket, '-x', '-D', admin, '-w', password], change);
  }

  /** Sends KILL, STOP or CONT to one of the two. */
  async signal(signal: string, program: 'slapd' | 'nslcd'): Promise<void> {
    const { stdout } = await this.#run(['cat', `/run/${program}/${program}.pid`]);
    await this.#run(['kill', `-${signal}`, stdout.toString().trim()]);
  }

  async #run(argv: readonly string[], input = ''): Promise<ClientResult> {
    const result = await this.#host.inside(argv, { input });
    if (result.exitCode === 0) return result;
    throw new Error(`${argv.join(' ')}: ${result.exitCode ?? 'killed'} ${result.stderr}`);
  }
}

const nsswitch = [
  'passwd: files ldap',
  'group: files ldap',
  'shadow: files',
  'hosts: files',
  '',
].join('\n');

const nslcdConf = [
  ...['uid nslcd', 'gid nslcd', `uri ${socket}`, `base ${base}`],
  ...[`bind_timelimit ${nslcdWaits}`, `timelimit ${nslcdWaits}`],
  // After slapd was down, nslcd would wait before its next attempt.
  ...['reconnect_sleeptime 1', 'reconnect_retrytime 1'],
  '',
].join('\n');

function slapdConf(own: string): string {
  return [
    ...['core', 'cosine', 'nis'].map((name) => `include /etc/ldap/schema/${name}.schema`),
    ...[
      'modulepath /usr/lib/ldap',
      'loglevel none',
      'moduleload back_mdb',
      'pidfile /run/slapd/slapd.pid',
    ],
    ...['database mdb', `suffix "${base}"`, `rootdn "${admin}"`, `rootpw ${password}`],
    ...[`directory ${own}/data`, 'index objectClass,uid,uidNumber,gidNumber,memberUid,cn eq', ''],
  ].join('\n');
}

/** RFC 2307. */
function ldif({ users, groups }: DirectoryOptions, shell: string | undefined): string {
  const entry = (...lines: string[]): string => `${lines.join('\n')}\n`;
  return [
    entry(
      `dn: ${base}`,
      'objectClass: dcObject',
      'objectClass: organization',
      'dc: site',
      'o: site',
    ),
    ...['people', 'groups'].map((ou) =>
      entry(`dn: ou=${ou},${base}`, 'objectClass: organizationalUnit', `ou: ${ou}`),
    ),
    ...Object.entries(users).map(([name, user]) =>
      entry(
        ...[`dn: uid=${name},ou=people,${base}`, 'objectClass: account'],
        ...['objectClass: posixAccount', `cn: ${name}`, `uid: ${name}`],
        ...[`uidNumber: ${user.uid}`, `gidNumber: ${gidOf(groups, user.groups[0])}`],
        ...[`homeDirectory: ${homeOf(name)}`, `loginShell: ${shell ?? user.shell ?? '/bin/bash'}`],
      ),
    ),
    ...Object.entries(groups).map(([name, gid]) =>
      entry(
        ...[`dn: cn=${name},ou=groups,${base}`, 'objectClass: posixGroup', `cn: ${name}`],
        `gidNumber: ${gid}`,
        ...Object.entries(users)
          .filter(([, user]) => user.groups.slice(1).includes(name))
          .map(([member]) => `memberUid: ${member}`),
      ),
    ),
  ].join('\n');
}

function gidOf(groups: DirectoryOptions['groups'], name: string): number {
  const gid = groups[name];
  if (gid === undefined) throw new Error(`the directory has no group ${name}`);
  return gid;
}
