/** The LDAP directory of a test's login node: slapd, and nslcd, which connects the host's NSS to it. */
import { execFile } from 'node:child_process';
import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { homeOf, type Account } from '../site/accounts.ts';
import { waitFor } from '../wait-for.ts';
import type { ClientResult } from '../../../src/companions/verify/run-client.ts';
import type { SshHost } from './ssh-host.ts';

export interface LdapDirectoryOptions {
  /** GIDs of all groups, by name. */
  readonly groups: Readonly<Record<string, number>>;
  readonly users: Readonly<Record<string, LdapUser>>;
}

export interface LdapUser {
  readonly uid: number;
  /** Names of groups; the first is the primary group. */
  readonly groups: readonly [string, ...string[]];
  /** Login shell; default /bin/bash. */
  readonly shell?: string;
}

export const ldapPackages = ['slapd', 'ldap-utils', 'libnss-ldapd', 'nslcd'];

/** nslcd's time limit for connections and searches, in seconds. */
export const nslcdTimeouts = 2;

const base = 'dc=site,dc=test';
const admin = `cn=admin,${base}`;
/** Not secret: the socket is in the host's own /run. */
const password = 'nobody-listens';
const socket = 'ldapi://%2Frun%2Fslapd%2Fldapi';

/** The passwd(5) entries of the users. */
export function ldapAccounts({ users, groups }: LdapDirectoryOptions): Account[] {
  return Object.entries(users).map(([name, user]) => ({
    ...{ name, uid: user.uid, gid: gidOf(groups, user.groups[0]), home: homeOf(name) },
  }));
}

/** Writes the files of NSS, nslcd and slapd, before the host starts. */
export async function writeLdapFiles(
  directory: string,
  options: LdapDirectoryOptions,
  shell: string | undefined,
): Promise<void> {
  const own = join(directory, 'directory');
  await mkdir(join(own, 'data'), { recursive: true, mode: 0o700 });
  await writeFile(join(own, 'slapd.conf'), slapdConf(own));
  await writeFile(join(own, 'site.ldif'), ldif(options, shell));
  await promisify(execFile)('/usr/sbin/slapadd', [
    ...['-f', join(own, 'slapd.conf'), '-l', join(own, 'site.ldif')],
  ]);
  await appendFile(join(directory, 'etc/nsswitch.conf'), nsswitch);
  await writeFile(join(directory, 'etc/nslcd.conf'), nslcdConf, { mode: 0o644 });
}

export class LdapDirectory {
  readonly #host: SshHost;

  private constructor(host: SshHost) {
    this.#host = host;
  }

  /** Starts slapd and nslcd in the PID namespace of a running host; they end with it. */
  static async start(host: SshHost): Promise<LdapDirectory> {
    const ldap = new LdapDirectory(host);
    await host.asRoot(['install', '-d', '-m', '0755', '/run/slapd']);
    await host.asRoot(['install', '-d', '-o', 'nslcd', '-g', 'nslcd', '/run/nslcd']);
    await ldap.startSlapd();
    await ldap.#run(['/usr/sbin/nslcd']);
    const some = String(host.users.at(-1)?.uid);
    await waitFor({ what: 'nslcd to answer', timeoutMs: 60_000, everyMs: 50 }, async () =>
      (await host.asRoot(['getent', 'passwd', some])).exitCode === 0 ? true : undefined,
    );
    return ldap;
  }

  async startSlapd(): Promise<void> {
    const conf = join(this.#host.directory, 'directory/slapd.conf');
    await this.#run(['/usr/sbin/slapd', '-h', socket, '-f', conf]);
  }

  /** Removes a user from a group. */
  async removeFromGroup(user: string, group: string): Promise<void> {
    const change = [
      ...[`dn: cn=${group},ou=groups,${base}`, 'changetype: modify', 'delete: memberUid'],
      ...[`memberUid: ${user}`, ''],
    ].join('\n');
    await this.#run(['ldapmodify', '-H', socket, '-x', '-D', admin, '-w', password], change);
  }

  /** Sends a signal (KILL, STOP, CONT) to slapd or nslcd. */
  async signal(signal: string, program: 'slapd' | 'nslcd'): Promise<void> {
    const { stdout } = await this.#run(['cat', `/run/${program}/${program}.pid`]);
    await this.#run(['kill', `-${signal}`, stdout.toString().trim()]);
  }

  async #run(argv: readonly string[], input = ''): Promise<ClientResult> {
    const result = await this.#host.asRoot(argv, { input });
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
  ...[`bind_timelimit ${nslcdTimeouts}`, `timelimit ${nslcdTimeouts}`],
  // Short retry times, so that nslcd answers soon after slapd is back.
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

/** The entries, with the schema of RFC 2307. */
function ldif({ users, groups }: LdapDirectoryOptions, shell: string | undefined): string {
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

function gidOf(groups: LdapDirectoryOptions['groups'], name: string): number {
  const gid = groups[name];
  if (gid === undefined) throw new Error(`the LDAP directory has no group ${name}`);
  return gid;
}
