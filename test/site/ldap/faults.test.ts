import { chmod, readFile, writeFile } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { freePorts } from '../../rig/free-ports.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import {
  baseDn,
  groupEntry,
  personEntry,
  readerAccount,
  Slapd,
  type SlapdOptions,
} from '../../rig/slapd.ts';
import { RefusingPolicy } from './refusing-policy.ts';
import { SyncSite, type LdapSection } from './sync-site.ts';

let site: Site;
let host: SyncSite;
let slapd: Slapd;
let options: SlapdOptions;

const people = Array.from({ length: 220 }, (_, n) => personEntry(`user-${n}`, 20_000 + n));

beforeAll(async () => {
  site = await openSite();
  host = await SyncSite.make(site);
  options = { certificate: await site.certificates.server('slapd'), ca: site.ca.file };
  slapd = await Slapd.start(options, [
    ...people,
    groupEntry('users', 100),
    groupEntry('chem', 30_000, ['user-1']),
  ]);
});
afterEach(() => host.clear());
afterAll(async () => {
  await slapd.remove();
  await host.remove();
});

/** Nobody's namespace was written, and the next run does not take this one for its measure. */
async function nothingChanged(): Promise<void> {
  for (const annotations of (await host.allAnnotations()).values())
    expect(Object.keys(annotations).sort()).toEqual(['last-hook-execution', 'owner']);
}

describe('a directory with an incomplete answer', () => {
  it.each<[string, LdapSection, string, number]>([
    ['is away', { url: 'ldaps://127.0.0.1:1' }, 'ldap-unreachable', 75],
    ['wants another password', { bind_dn: `cn=nobody,${baseDn}` }, 'ldap-credentials-invalid', 78],
    ['has a certificate of somebody else', { ca_file: undefined }, 'ldap-certificate', 78],
    ['has no such base', { users: { base: `ou=nobody,${baseDn}` } }, 'ldap-base-not-found', 78],
    ['finds nobody', { users: { filter: '(uid=nobody)' } }, 'ldap-no-users', 78],
    ['finds no group', { groups: { filter: '(cn=nothing)' } }, 'ldap-no-groups', 78],
    ['is asked with half a filter', { users: { filter: '(uid=a' } }, 'ldap-filter-invalid', 78],
  ])('%s: nothing is changed', async (_, ldap, code, exit) => {
    await host.configure(slapd, ldap);
    await host.makeNamespaces(['user-1', 'user-2']);

    const { exitCode, stdout, stderr } = await host.sync();

    expect(stderr).toContain(`[${code}]`);
    expect(stderr).toMatch(/^next: ./m);
    expect(stderr + stdout).not.toContain(readerAccount.password);
    expect({ exitCode, stdout }).toEqual({ exitCode: exit, stdout: '' });
    await nothingChanged();
  });

  it('stops at a size limit', async () => {
    await slapd.stopServer();
    const limits = `limits dn.exact="${readerAccount.dn}" size.soft=100 size.hard=100 size.prtotal=100`;
    await slapd.configure({ ...options, database: [limits] });
    await slapd.startServer();
    try {
      await host.configure(slapd);
      await host.makeNamespaces(['user-1', 'user-219']);
      const { exitCode, stderr } = await host.sync();
      expect(stderr).toContain('[ldap-size-limit]');
      expect(exitCode).toBe(78);
      await nothingChanged();
    } finally {
      await slapd.stopServer();
      await slapd.configure(options);
      await slapd.startServer();
    }
  });

  it('has a part on another server', async () => {
    const elsewhere = {
      dn: `ou=more,ou=people,${baseDn}`,
      objectClass: ['referral', 'extensibleObject'],
      ...{ ou: 'more', ref: `ldap://elsewhere.example.com/ou=more,${baseDn}` },
    };
    await slapd.add(elsewhere);
    try {
      await host.configure(slapd);
      await host.makeNamespaces(['user-1']);
      const { exitCode, stderr } = await host.sync();
      expect(stderr).toContain('[ldap-referral]');
      expect(exitCode).toBe(78);
      await nothingChanged();
    } finally {
      await slapd.delete(elsewhere.dn, '-M');
    }
  });

  it.each([
    ['is killed between two pages', () => slapd.stopServer('SIGKILL'), 'ldap-connection-lost'],
    ['says nothing any more', () => slapd.signal('SIGSTOP'), 'ldap-timeout'],
  ])('%s: nothing is changed, and the next run is as ever', async (_, strike, code) => {
    // Between the two, so that it is known when the second page is asked for.
    const between = await Between.start(slapd.ports.ldaps, 9_000, strike);
    try {
      await host.configure(slapd, { url: `ldaps://127.0.0.1:${between.port}`, timeout: '2s' });
      await host.makeNamespaces(['user-1', 'user-219']);
      const { exitCode, stderr } = await host.sync();
      expect(stderr).toContain(`[${code}]`);
      expect(exitCode).toBe(75);
      await nothingChanged();
    } finally {
      between.close();
      slapd.signal('SIGCONT');
      await slapd.stopServer();
      await slapd.startServer();
    }
    await host.configure(slapd);
    expect(await host.sync()).toMatchObject({ exitCode: 0 });
    expect(await host.annotations('user-219')).toMatchObject({ uid: '20219' });
  });

  it('has far fewer users than in the last run, until an admin confirms it', async () => {
    await host.configure(slapd);
    await host.makeNamespaces(['user-1', 'user-200']);
    await host.sync();
    await host.configure(slapd, {
      users: { filter: '(&(objectClass=posixAccount)(uidNumber<=20100))' },
    });

    const { exitCode, stderr } = await host.sync();

    expect(stderr).toContain(
      'there are 101 users, and last time there were 220 [ldap-too-few-entries]',
    );
    expect(exitCode).toBe(69);
    expect(await host.annotations('user-200')).not.toHaveProperty('removed');

    expect(await host.sync('--accept-fewer')).toMatchObject({ exitCode: 0 });
    expect(await host.annotations('user-200')).toHaveProperty('removed');
  });

  it('is read from another server if the first is unreachable', async () => {
    await host.configure(slapd, {
      url: `ldaps://127.0.0.1:1 ldaps://127.0.0.1:${slapd.ports.ldaps}`,
    });
    await host.makeNamespaces(['user-1']);

    expect(await host.sync()).toMatchObject({ exitCode: 0, stderr: '' });
  });
});

it('a cluster that refuses one namespace gets the others, and is told which', async () => {
  await host.configure(slapd);
  // Far more than are written at once.
  const users = Array.from({ length: 40 }, (_, n) => `user-${n}`);
  await host.makeNamespaces(users);
  const refused = host.namespaceOf('user-0');
  const metrics = join(host.directory, 'refused.prom');
  await using policy = await RefusingPolicy.make(host.cluster, refused);

  const { exitCode, stdout, stderr } = await host.sync('--textfile', metrics);

  expect(stdout).toContain('prod: 39 namespaces changed, 0 unchanged');
  expect(stderr).toContain(`the annotations of namespace ${refused}: `);
  expect(stderr).toContain('not in the exam week [api-forbidden]');
  expect(exitCode).toBe(77);
  const annotations = await host.allAnnotations();
  const written = [...annotations].filter(([, { uid }]) => uid !== undefined);
  expect(written).toHaveLength(39);
  expect(annotations.get(refused)).not.toHaveProperty('uid');
  const text = await readFile(metrics, 'utf8');
  expect(text).toMatch(/^berth_ldap_sync_success\{cluster="prod"\} 0$/m);
  expect(text).toMatch(/^berth_ldap_sync_refused_writes\{cluster="prod"\} 1$/m);
  // The numbers of this run are the next one's measure.
  const memory = await host.cluster.get('configmap', 'berth-ldap-sync', 'ondemand');
  expect(memory).toMatchObject({ data: { users: '220' } });

  await policy.remove();
  expect(await host.sync()).toMatchObject({ exitCode: 0, stderr: '' });
  expect(await host.annotations('user-0')).toMatchObject({ uid: '20000' });
});

describe('the connection to the directory', () => {
  it('uses StartTLS if the address is ldap://', async () => {
    await host.configure(slapd, { url: `ldap://127.0.0.1:${slapd.ports.ldap}` });
    await host.makeNamespaces(['user-1']);
    expect(await host.sync()).toMatchObject({ exitCode: 0, stderr: '' });

    await host.configure(slapd, {
      ...{ url: `ldap://127.0.0.1:${slapd.ports.ldap}`, ca_file: undefined },
    });
    expect((await host.sync()).stderr).toContain('[ldap-certificate]');
  });

  it('is never unencrypted', async () => {
    await host.configure(slapd, { url: 'ldap://ldap.example.com', start_tls: false });
    const { exitCode, stderr } = await host.sync();
    expect(stderr).toContain('ldap.start_tls may be false only for a server on this host');
    expect(exitCode).toBe(78);
  });

  it('needs a password file that others cannot read', async () => {
    await host.configure(slapd);
    await chmod(slapd.passwordFile, 0o640);
    try {
      const { exitCode, stderr } = await host.sync();
      expect(stderr).toContain('[ldap-password-unsafe]');
      expect(exitCode).toBe(78);
    } finally {
      await chmod(slapd.passwordFile, 0o600);
    }
  });

  it('sets another exit status and the metrics if the API server refuses', async () => {
    await host.configure(slapd);
    const kubeconfig = join(host.directory, 'kubeconfig');
    const good = await readFile(kubeconfig, 'utf8');
    const metrics = join(host.directory, 'ldap.prom');
    await host.sync('--textfile', metrics);
    expect(await readFile(metrics, 'utf8')).toMatch(
      /^berth_ldap_sync_success\{cluster="[^"]+"\} 1$/m,
    );
    const success = /^berth_ldap_sync_last_success_timestamp_seconds\{cluster="[^"]+"\} \d+$/m;
    const [first] = success.exec(await readFile(metrics, 'utf8')) ?? [];
    await writeFile(kubeconfig, good.replace(/token: .*/, 'token: nobody'), { mode: 0o600 });
    try {
      const { exitCode, stderr } = await host.sync('--textfile', metrics);
      expect(stderr).toContain('[api-unauthorized]');
      expect(exitCode).toBe(78);
      const text = await readFile(metrics, 'utf8');
      expect(text).toMatch(/^berth_ldap_sync_success\{cluster="[^"]+"\} 0$/m);
      expect(text).toContain(first);
      expect(text).toMatch(/^berth_ldap_sync_users\{cluster="[^"]+"\} 220$/m);
    } finally {
      await writeFile(kubeconfig, good, { mode: 0o600 });
    }
  });
});

/** Hands bytes on, both ways, until the server has sent so many; then it strikes, once. */
class Between {
  readonly port: number;
  readonly #server: Server;

  private constructor(port: number, server: Server) {
    this.port = port;
    this.#server = server;
  }

  static async start(to: number, bytes: number, strike: () => unknown): Promise<Between> {
    const { port } = await freePorts(['port']);
    const server = createServer((client) => {
      const upstream = connect(to, '127.0.0.1');
      let seen = 0;
      client.pipe(upstream);
      upstream.on('data', (data: Buffer) => {
        const before = seen;
        seen += data.length;
        if (before < bytes && seen >= bytes) strike();
        client.write(data);
      });
      upstream.on('close', () => client.destroy());
      client.on('close', () => upstream.destroy());
      for (const socket of [client, upstream]) socket.on('error', () => undefined);
    });
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    return new Between(port, server);
  }

  close(): void {
    this.#server.close();
  }
}
