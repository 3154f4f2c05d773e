import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import { Browser } from '../../rig/site/browser.ts';
import { Hub } from '../../rig/jupyterhub/hub.ts';
import { ldapPassword, startHubDirectory } from '../../rig/jupyterhub/hub-directory.ts';
import { hubKey } from '../../rig/jupyterhub/install-hub.ts';
import { Portal } from '../../rig/site/portal.ts';
import { ensureAccount, type Account } from '../../rig/site/accounts.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { readerAccount, type Slapd } from '../../rig/slapd.ts';

let site: Site;
let slapd: Slapd;
let portal: Portal;
let accounts: readonly Account[];

/** In the directory beside the accounts: no account has these names, or it has another spelling. */
const others = { 'hub-NOBODY': 70_001, 'hub-аda': 70_002, 'hub ada': 70_003 };

beforeAll(async () => {
  site = await openSite();
  accounts = await Promise.all(
    ['hub-ada', 'hub-b.ob', 'hub-c@site.test'].map((name) => ensureAccount(name)),
  );
  const directory = await startHubDirectory(site, accounts, others);
  slapd = directory.slapd;
  portal = await Portal.make(site, { berth: { defaults: hubKey, ldap: directory.ldap } });
  const profiles = join(portal.directory, 'profiles');
  await mkdir(profiles);
  await writeFile(
    join(profiles, 'base.yml'),
    stringify({ backend: 'pod', image: 'x/y:1', pull: 'missing' }),
  );
  await writeFile(join(portal.directory, 'ssh.yml'), stringify({ profiles_dir: profiles }));
});
afterAll(async () => {
  await slapd.remove();
  await portal.remove();
});

/** Starts a hub with what `berth render jupyterhub base …` prints, for the duration of `during`. */
async function withHub(
  args: (place: string) => readonly string[],
  secrets: Readonly<Record<string, string>>,
  during: (hub: Hub) => Promise<void>,
  lines: readonly string[] = [],
): Promise<void> {
  const place = await Hub.makeDirectory();
  const socket = ['--socket', Hub.socketIn(place)];
  const { exitCode, stdout, stderr } = await portal.run('berth', [
    ...['render', 'jupyterhub', 'base', ...socket, ...args(place)],
    ...['--config', portal.files.berth, '--config-dir', portal.directory],
  ]);
  expect([exitCode, stderr]).toEqual([0, '']);
  const hub = await Hub.start(place, {
    ...{ config: stdout, secrets, address: '127.0.0.1', portal, spawns: false, lines },
  });
  try {
    await during(hub).catch(async (error: unknown) => {
      throw new Error(await hub.log(), { cause: error });
    });
  } finally {
    await hub.stop();
  }
}

describe('the login of a hub', () => {
  it('with LDAP is that of accounts, by their names in the directory', async () => {
    const args = (place: string): string[] => [
      ...['--login', 'ldap', '--ldap-password-file', Hub.secretIn(place, 'ldap-password')],
    ];
    await withHub(args, { 'ldap-password': readerAccount.password }, async (hub) => {
      for (const { name } of accounts)
        expect((await hub.login(name, ldapPassword)).name).toBe(name);
      // The directory compares names without case.
      expect((await hub.login('HUB-ADA', ldapPassword)).name).toBe('hub-ada');

      for (const [name, password] of [
        ['hub-ada', 'wrong'],
        ['hub-ada', ''],
        ['hub-*', ldapPassword],
        ['hub-ada)(uid=*', ldapPassword],
        ['hub-NOBODY', ldapPassword],
        ['hub-аda', ldapPassword],
        ['hub ada', ldapPassword],
        ['root', ldapPassword],
      ] as const)
        await expect(hub.login(name, password), `${name} ${password}`).rejects.toThrow();
      expect(await hub.log()).toMatch(/user-unknown/);
    });
  });

  it('with LDAP is refused if the directory shows another certificate', async () => {
    const other = await site.certificates.client('not-a-server');
    await slapd.stopServer();
    await slapd.configure({ certificate: other, ca: site.ca.file });
    await slapd.startServer();
    const args = (place: string): string[] => [
      ...['--login', 'ldap', '--ldap-password-file', Hub.secretIn(place, 'ldap-password')],
    ];
    await withHub(args, { 'ldap-password': readerAccount.password }, async (hub) => {
      await expect(hub.login('hub-ada', ldapPassword)).rejects.toThrow();
      expect(await hub.log()).toMatch(/certificate/i);
    });
  });

  it('with the identity provider is that of accounts, too', async () => {
    const secret = 'a-secret-of-the-hub';
    await site.keycloak.putClient({
      ...{ clientId: 'hub-login', secret, redirectUris: ['*'], protocol: 'openid-connect' },
    });
    for (const name of ['hub-ada', 'hub-nobody']) await site.keycloak.addUser(name);
    const args = (place: string): string[] => [
      ...['--login', 'oidc', '--client-id', 'hub-login'],
      ...['--client-secret-file', Hub.secretIn(place, 'client-secret')],
    ];
    await withHub(args, { 'client-secret': secret }, async (hub) => {
      const loggedIn = async (name: string): Promise<string> => {
        const browser = new Browser(site.ca.pem);
        const page = await browser.open(`${hub.url}/hub/oauth_login?next=%2Fhub%2Ftoken`, name);
        return (await hub.tokenOf(browser, page)).name;
      };
      expect(await loggedIn('hub-ada')).toBe('hub-ada');
      await expect(loggedIn('hub-nobody')).rejects.toThrow(/user-unknown/);
    });
    // The name is in the claim that the site's berth.yml says, not in one that users may be able to edit.
    const credentials = {
      ...{ ca_file: site.ca.file, audience: 'kubernetes', exchange: false, token: 'id' },
      username_claim: 'sub',
    };
    await portal.writeBerth({ defaults: { ...hubKey, credentials } });
    await withHub(args, { 'client-secret': secret }, async (hub) => {
      const browser = new Browser(site.ca.pem);
      const page = await browser.open(`${hub.url}/hub/oauth_login?next=%2Fhub%2Ftoken`, 'hub-ada');
      await expect(hub.tokenOf(browser, page)).rejects.toThrow(/user-/);
    });
  });

  /** What a login at the identity provider gives, by a claim and for a client with mappers. */
  async function loginBy(claim: string, mappers: readonly object[]): Promise<string> {
    const secret = 'a-secret-of-the-hub';
    const clientId = `hub-by-${claim}`;
    await site.keycloak.putClient({
      ...{ clientId, secret, redirectUris: ['*'], protocol: 'openid-connect' },
      protocolMappers: mappers.map((mapper) => ({ protocol: 'openid-connect', ...mapper })),
    });
    await site.keycloak.addUser('hub-ada');
    const args = (place: string): string[] => [
      ...['--login', 'oidc', '--client-id', clientId, '--username-claim', claim],
      ...['--client-secret-file', Hub.secretIn(place, 'client-secret')],
    ];
    let result = '';
    const during = async (hub: Hub): Promise<void> => {
      const browser = new Browser(site.ca.pem);
      const page = await browser.open(`${hub.url}/hub/oauth_login?next=%2Fhub%2Ftoken`, 'hub-ada');
      const { name } = await hub
        .tokenOf(browser, page)
        .catch((error: unknown) => ({ name: String(error) }));
      result = name;
    };
    const lines = ["c.BerthOAuthenticator.scope = ['openid', 'profile']"];
    await withHub(args, { 'client-secret': secret }, during, lines);
    return result;
  }

  it('with a claim that the identity provider has in ID tokens only is that of the account', async () => {
    const config = {
      ...{ 'user.attribute': 'username', 'claim.name': 'account', 'jsonType.label': 'String' },
      ...{ 'id.token.claim': 'true', 'userinfo.token.claim': 'false' },
    };
    const mapper = { name: 'account', protocolMapper: 'oidc-usermodel-attribute-mapper', config };
    expect(await loginBy('account', [mapper])).toBe('hub-ada');
  });

  it('with an address that is not verified is refused, whatever word the identity provider has for it', async () => {
    const fixed = (name: string, value: string): object => ({
      name,
      protocolMapper: 'oidc-hardcoded-claim-mapper',
      config: {
        ...{ 'claim.name': name, 'claim.value': value, 'jsonType.label': 'String' },
        ...{ 'id.token.claim': 'true', 'userinfo.token.claim': 'true' },
      },
    });
    const mappers = [fixed('email', 'hub-c@site.test'), fixed('email_verified', 'false')];
    expect(await loginBy('email', mappers)).toContain('does not say that the address is verified');
  });
});

describe('the file of a hub', () => {
  const render = (...args: string[]) =>
    portal.run('berth', [
      ...['render', 'jupyterhub', '--directory', portal.directory, ...args],
      ...['--config', portal.files.berth, '--config-dir', portal.directory],
    ]);

  it('stays as it is if it cannot be rendered', async () => {
    expect(await render('base')).toMatchObject({ exitCode: 0, stdout: 'berth.py: new' });
    const file = join(portal.directory, 'berth.py');
    const before = await readFile(file, 'utf8');
    expect(before).toContain('configure(c, ');
    expect(await render('base', 'nosuch')).toMatchObject({ exitCode: 64 });
    expect(await readFile(file, 'utf8')).toBe(before);
  });

  it('is not made for a cluster whose pods have no socket', async () => {
    const { exitCode, stderr } = await render('base', '--form', 'chart');
    expect([exitCode, stderr]).toEqual([
      64,
      expect.stringContaining('--form chart needs --socket tls://HOST:PORT'),
    ]);
  });

  it('is made with a warning for a cluster that lets no hub in', async () => {
    await portal.writeBerth();
    expect((await render('base')).stderr).toContain('no section jupyterhub for the cluster prod');
    await portal.writeBerth({ defaults: hubKey });
  });
});

describe('a hub in the cluster', () => {
  it('takes its configuration and the package from a Kustomize component', async () => {
    const directory = join(portal.directory, 'component');
    const { exitCode, stderr } = await portal.run('berth', [
      ...['render', 'jupyterhub', 'base', '--form', 'component', '--directory', directory],
      ...['--socket', 'tls://portal.site.test:8444', '--config', portal.files.berth],
      ...['--config-dir', portal.directory],
    ]);
    expect([exitCode, stderr]).toEqual([0, '']);
    const overlay = join(portal.directory, 'overlay');
    await mkdir(overlay);
    const container = { name: 'hub', image: 'hub:1' };
    const template = { spec: { containers: [container] } };
    await writeFile(
      join(overlay, 'hub.yaml'),
      stringify({
        ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'hub' } },
        spec: { template },
      }),
    );
    await writeFile(
      join(overlay, 'kustomization.yaml'),
      stringify({ resources: ['hub.yaml'], components: ['../component'] }),
    );
    const { stdout } = await site.kubectl(['kustomize', overlay]);
    const objects = parseAllDocuments(stdout).map((one) => one.toJS() as Record<string, unknown>);
    const config = objects.find(({ kind }) => kind === 'ConfigMap');
    expect(Object.keys(config?.data as object)).toEqual(
      expect.arrayContaining(['berth.py', 'pods.py', '__init__.py']),
    );
    expect(objects.find(({ kind }) => kind === 'Deployment')?.spec).toMatchObject({
      template: {
        spec: {
          containers: [{ env: [{ name: 'PYTHONPATH' }] }],
          volumes: [
            { configMap: { name: (config?.metadata as { name: string }).name } },
            { secret: { secretName: 'berth-hub' } },
          ],
        },
      },
    });
  });
});
