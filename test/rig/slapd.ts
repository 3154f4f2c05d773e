/** A slapd on loopback, with TLS, for one test file. */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ensurePackages } from './site/debian-packages.ts';
import { freePorts } from './free-ports.ts';
import type { KeyPair } from './site/certificates.ts';
import { waitFor } from './wait-for.ts';

const run = promisify(execFile);

export const baseDn = 'dc=site,dc=test';
/** An account that can read all entries with paged results, without a size limit. */
export const readerAccount = { dn: `cn=reader,${baseDn}`, password: 'päss wörd' };
const admin = { dn: `cn=admin,${baseDn}`, password: 'admin-password' };

export interface SlapdOptions {
  readonly certificate: KeyPair;
  readonly ca: string;
  /** Default `rfc2307`: groups list members by name. `rfc2307bis`: groups list members by DN. */
  readonly schema?: 'rfc2307' | 'rfc2307bis';
  /** Further lines of the database's configuration. */
  readonly database?: readonly string[];
  /** An address besides loopback on which it listens for `ldaps`. */
  readonly address?: string;
}

/** An entry for LDIF. */
export interface Entry {
  readonly dn: string;
  readonly [attribute: string]: string | number | readonly (string | number)[];
}

export class Slapd {
  readonly directory: string;
  readonly ports: { readonly ldap: number; readonly ldaps: number };
  readonly passwordFile: string;
  readonly #address: string | undefined;
  #process: ChildProcess | undefined;

  private constructor(directory: string, ports: Slapd['ports'], address: string | undefined) {
    this.directory = directory;
    this.ports = ports;
    this.#address = address;
    this.passwordFile = join(directory, 'password');
  }

  static async start(options: SlapdOptions, entries: readonly Entry[]): Promise<Slapd> {
    await ensurePackages(['slapd', 'ldap-utils']);
    const directory = await mkdtemp(join(tmpdir(), 'slapd-'));
    const ports = await freePorts(['ldap', 'ldaps']);
    const slapd = new Slapd(directory, ports, options.address);
    await mkdir(join(directory, 'data'), { mode: 0o700 });
    await writeFile(slapd.passwordFile, `${readerAccount.password}\n`, { mode: 0o600 });
    await slapd.configure(options);
    await writeFile(join(directory, 'site.ldif'), ldif([...roots, ...entries]));
    await run('/usr/sbin/slapadd', ['-q', '-f', slapd.#conf, '-l', join(directory, 'site.ldif')]);
    await slapd.startServer();
    return slapd;
  }

  /** Rewrites the configuration, which takes effect at the next start. */
  async configure(options: SlapdOptions): Promise<void> {
    await writeFile(join(this.directory, 'bis.schema'), bisSchema);
    await writeFile(this.#conf, slapdConf(this.directory, options));
  }

  /** Starts slapd and waits until it answers. */
  async startServer(): Promise<void> {
    const { ldap, ldaps } = this.ports;
    const hosts = ['127.0.0.1', ...(this.#address === undefined ? [] : [this.#address])];
    const tls = hosts.map((host) => `ldaps://${host}:${ldaps}`);
    const urls = [`ldap://127.0.0.1:${ldap}`, ...tls, this.#socketUrl].join(' ');
    const child = spawn('/usr/sbin/slapd', ['-d', '0', '-h', urls, '-f', this.#conf], {
      stdio: 'ignore',
    });
    this.#process = child;
    await waitFor({ what: 'slapd', timeoutMs: 60_000, everyMs: 20 }, async () => {
      if (child.exitCode !== null) throw new Error(`slapd exited with ${child.exitCode}`);
      await this.#ldap('ldapwhoami', []);
      return true;
    });
  }

  /** Sends a signal, for example STOP or CONT. */
  signal(name: NodeJS.Signals): void {
    this.#process?.kill(name);
  }

  async stopServer(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const child = this.#process;
    if (child?.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await ended;
  }

  async remove(): Promise<void> {
    await this.stopServer('SIGKILL');
    await rm(this.directory, { recursive: true });
  }

  async add(...entries: readonly Entry[]): Promise<void> {
    await this.#ldap('ldapadd', [], ldif(entries));
  }

  /** @param options of ldapdelete(1): `-M` deletes a referral instead of following it */
  async delete(dn: string, ...options: string[]): Promise<void> {
    await this.#ldap('ldapdelete', [...options, dn]);
  }

  /** Replaces the values of an attribute. */
  async replace(dn: string, attribute: string, ...values: (string | number)[]): Promise<void> {
    const lines = [line('dn', dn), 'changetype: modify', `replace: ${attribute}`];
    await this.#ldap(
      'ldapmodify',
      [],
      [...lines, ...values.map((v) => line(attribute, v)), ''].join('\n'),
    );
  }

  get #conf(): string {
    return join(this.directory, 'slapd.conf');
  }

  get #socketUrl(): string {
    return `ldapi://${encodeURIComponent(join(this.directory, 'ldapi'))}`;
  }

  async #ldap(command: string, args: readonly string[], input = ''): Promise<void> {
    const argv = ['-H', this.#socketUrl, '-x', '-D', admin.dn, '-w', admin.password, ...args];
    const running = run(command, argv);
    // EPIPE, if it exits before it reads its input; its exit status is checked below.
    running.child.stdin?.on('error', () => undefined).end(input);
    await running;
  }
}

type Attributes = Readonly<Record<string, string | number | readonly (string | number)[]>>;

export function personEntry(name: string, uid: number | string, more: Attributes = {}): Entry {
  return {
    dn: `uid=${escapeRdnValue(name)},ou=people,${baseDn}`,
    objectClass: ['account', 'posixAccount'],
    ...{ cn: name, uid: name, uidNumber: uid, gidNumber: 100, homeDirectory: `/home/${name}` },
    ...more,
  };
}

/** A group as in RFC 2307, with members by name. */
export function groupEntry(
  name: string,
  gid: number | string,
  members: readonly string[] = [],
): Entry {
  return {
    dn: `cn=${escapeRdnValue(name)},ou=groups,${baseDn}`,
    objectClass: 'posixGroup',
    ...{ cn: name, gidNumber: gid },
    ...(members.length === 0 ? {} : { memberUid: members }),
  };
}

/** Escapes the value of an attribute in a DN (RFC 4514). */
export function escapeRdnValue(value: string): string {
  return value.replace(/[,+"\\<>;=]/g, '\\$&');
}

const roots: readonly Entry[] = [
  { dn: baseDn, objectClass: ['dcObject', 'organization'], dc: 'site', o: 'site' },
  ...['people', 'groups'].map((ou) => ({
    ...{ dn: `ou=${ou},${baseDn}`, objectClass: 'organizationalUnit', ou },
  })),
  {
    dn: readerAccount.dn,
    objectClass: ['organizationalRole', 'simpleSecurityObject'],
    ...{ cn: 'reader', userPassword: readerAccount.password },
  },
];

function ldif(entries: readonly Entry[]): string {
  return entries
    .map(({ dn, ...attributes }) =>
      [
        line('dn', dn),
        ...Object.entries(attributes).flatMap(([name, values]) =>
          (Array.isArray(values) ? (values as (string | number)[]) : [values as string]).map((v) =>
            line(name, v),
          ),
        ),
        '',
      ].join('\n'),
    )
    .join('\n');
}

function line(name: string, value: string | number): string {
  return `${name}:: ${Buffer.from(String(value)).toString('base64')}`;
}

function slapdConf(
  directory: string,
  { certificate, ca, schema, database = [] }: SlapdOptions,
): string {
  const schemas = ['core', 'cosine'].map((name) => `/etc/ldap/schema/${name}.schema`);
  const own = schema === 'rfc2307bis' ? `${directory}/bis.schema` : '/etc/ldap/schema/nis.schema';
  return [
    ...[...schemas, own].map((file) => `include ${file}`),
    ...['modulepath /usr/lib/ldap', 'moduleload back_mdb', 'loglevel none'],
    `TLSCertificateFile ${certificate.cert}`,
    `TLSCertificateKeyFile ${certificate.key}`,
    `TLSCACertificateFile ${ca}`,
    ...['database mdb', 'maxsize 268435456', `suffix "${baseDn}"`],
    ...[`rootdn "${admin.dn}"`, `rootpw ${admin.password}`, `directory ${directory}/data`],
    `index objectClass,uid,uidNumber,gidNumber,cn${schema === 'rfc2307bis' ? '' : ',memberUid'} eq`,
    ...database,
    `limits dn.exact="${readerAccount.dn}" size.soft=100 size.hard=100 size.pr=unlimited size.prtotal=unlimited`,
    'access to attrs=userPassword by anonymous auth by * none',
    `access to dn.subtree="${baseDn}" by dn.exact="${readerAccount.dn}" read by anonymous none`,
    '',
  ].join('\n');
}

/** The difference of RFC 2307bis: posixGroup is an auxiliary class, added to a group with DNs as members. */
const bisSchema = `
attributetype ( 1.3.6.1.1.1.1.3 NAME 'homeDirectory' EQUALITY caseExactIA5Match
  SYNTAX 1.3.6.1.4.1.1466.115.121.1.26 SINGLE-VALUE )
objectclass ( 1.3.6.1.1.1.2.0 NAME 'posixAccount' SUP top AUXILIARY
  MUST ( cn $ uid $ uidNumber $ gidNumber $ homeDirectory ) )
objectclass ( 1.3.6.1.1.1.2.2 NAME 'posixGroup' SUP top AUXILIARY MUST gidNumber )
`;
