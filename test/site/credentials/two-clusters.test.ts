import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { storedCredentialPath } from '../../../src/credentials/root-credential-store.ts';
import { errorLines } from '../../rig/log-lines.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { TestUsers, type TestUser } from '../../rig/site/test-users.ts';
import { installDirectory, Portal } from '../../rig/site/portal.ts';
import { expiredClaims, type SiteOidcProvider } from '../../rig/site/site-oidc-provider.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { BrokerHost } from '../../rig/broker/broker-host.ts';
import { expireCredential, UserKubectl } from '../../rig/site/user-kubectl.ts';
import { startTrustedProvider } from '../../rig/site/trusted-provider.ts';

let site: Site;
let cluster: LiveCluster;
let newcomers: TestUsers;
let provider: SiteOidcProvider;
/** The API server by the other name in its certificate: another cluster, to all who do not know. */
let otherName: string;

beforeAll(async () => {
  site = await openSite();
  cluster = new LiveCluster(site);
  newcomers = new TestUsers(cluster);
  otherName = site.server.replace('127.0.0.1', 'localhost');
  provider = await startTrustedProvider(site);
});

afterEach(() => {
  provider.faults.claims = {};
});

afterAll(async () => {
  await provider.stopListening();
  await newcomers.removeNamespaces();
});

async function comeWithKubectl(name: string): Promise<{ person: TestUser; kubectl: UserKubectl }> {
  const person = await newcomers.create(name);
  newcomers.alsoRemove(`u-other-${name}`);
  return { person, kubectl: new UserKubectl(site, person) };
}

describe('two clusters', () => {
  /** `prod` and `other`, in whose namespaces nothing is the same. */
  async function two(credentialsOfOther: object): Promise<Portal> {
    const both = await Portal.make(site, {
      hookEnv: { IDP_ISSUER_URL: provider.issuer, CLIENT_ID: 'kubernetes' },
      clusters: {
        prod: {},
        other: {
          namespace_prefix: 'u-other-',
          server: { endpoint: otherName, cert_authority_file: site.ca.file },
        },
      },
    });
    await writeTwo(both, {}, credentialsOfOther);
    return both;
  }

  async function writeTwo(both: Portal, ofBoth: object, ofOther: object): Promise<void> {
    const admin = { kubeconfig: both.files.kubeconfig, context: 'c' };
    const common = { ca_file: site.ca.file, audience: 'kubernetes', exchange: false };
    await both.writeBerth({
      defaults: { admin, subject_prefix: 'oidc:', credentials: { ...common, ...ofBoth } },
      clusters: { other: { credentials: ofOther } },
    });
  }

  it('share one user entry, and each is asked with its own credential', async () => {
    const { kubectl } = await comeWithKubectl('md-two');
    const both = await two({});

    const login = await both.prePun('md-two', await provider.login('md-two'));

    expect(login.exitCode, login.stderr).toBe(0);
    const { users, contexts } = await kubectl.kubeconfig();
    expect(users.map(({ name }) => name)).toEqual(['md-two']);
    expect(contexts).toMatchObject([
      { context: { user: 'md-two', namespace: expect.stringMatching(/md-two$/) as string } },
      { context: { user: 'md-two', namespace: expect.stringMatching(/md-two$/) as string } },
    ]);
    for (const context of ['prod', 'other']) {
      expect(await kubectl.whoami('--context', context)).toBe('oidc:md-two');
      expect((await kubectl.run('get', 'pods', '--context', context)).exitCode).toBe(0);
    }
    await both.remove();
  });

  it('with one login for both, each renews its token though the refresh token is good once', async () => {
    const { kubectl } = await comeWithKubectl('md-two2');
    const both = await two({});
    const tokens = await provider.login('md-two2');
    await both.prePun('md-two2', tokens);
    for (let start = 0; start < 2; start += 1) {
      await kubectl.expireToken();
      await kubectl.expireToken(otherName);
      expect(await kubectl.whoami('--context', 'prod')).toBe('oidc:md-two2');
      expect(await kubectl.whoami('--context', 'other')).toBe('oidc:md-two2');
      await both.prePun('md-two2', tokens);
    }
    await both.remove();
  });

  it('both get theirs of a login whose ID token has ended already', async () => {
    const { kubectl } = await comeWithKubectl('md-two4');
    const both = await two({});
    provider.faults.claims = expiredClaims();
    const tokens = await provider.login('md-two4');
    provider.faults.claims = {};

    for (let start = 0; start < 2; start += 1) {
      const { exitCode, stderr } = await both.prePun('md-two4', tokens);
      expect(exitCode, stderr).toBe(0);
      expect(await kubectl.whoami('--context', 'prod')).toBe('oidc:md-two4');
      expect(await kubectl.whoami('--context', 'other')).toBe('oidc:md-two4');
      await kubectl.expireToken();
      await kubectl.expireToken(otherName);
    }
    expect(await kubectl.whoami('--context', 'other')).toBe('oidc:md-two4');
    expect(await kubectl.whoami('--context', 'prod')).toBe('oidc:md-two4');
    await both.remove();
  });

  it("with a confidential client, root's broker keeps the one refresh token for both", async () => {
    const { person, kubectl } = await comeWithKubectl('md-two5');
    const both = await two({});
    const secretFile = join(both.directory, 'client-secret');
    await writeFile(secretFile, 'ondemand-secret-of-the-provider', { mode: 0o600 });
    const client = { client_id: 'ondemand', client_secret_file: secretFile };
    await writeTwo(both, client, {});
    provider.faults.claims = { aud: ['ondemand', 'kubernetes'], azp: 'ondemand' };
    const tokens = await provider.login('md-two5', 'confidential');
    const host = await BrokerHost.boot({
      command: [join(installDirectory, 'hooks/credential-broker')],
      config: both.files.berth,
      stateDir: both.files.stateDir,
    });
    await host.startSocket(person.uid);
    both.wrapArgv = (argv) => host.enter(argv);
    kubectl.host = host;
    try {
      for (let start = 0; start < 2; start += 1) {
        const { exitCode, stderr } = await both.prePun('md-two5', tokens);
        expect(exitCode, stderr).toBe(0);
        for (const server of [site.server, otherName]) await kubectl.expireToken(server);
        for (const name of ['prod', 'other'])
          await expireCredential(storedCredentialPath(both.files.stateDir, person.uid, name));
        expect(await kubectl.whoami('--context', 'prod')).toBe('oidc:md-two5');
        expect(await kubectl.whoami('--context', 'other')).toBe('oidc:md-two5');
      }
    } finally {
      await host.stop();
    }
    await both.remove();
  });

  it('of which one believes another issuer: it alone goes without a credential', async () => {
    const { kubectl } = await comeWithKubectl('md-two3');
    const both = await two({ issuer: site.keycloak.issuer, client_id: 'kubernetes-public' });

    const { exitCode, stderr } = await both.prePun('md-two3', await provider.login('md-two3'));

    expect(exitCode).not.toBe(0);
    expect(errorLines(stderr)).toMatchObject([{ cluster: 'other', code: 'token-issuer' }]);
    expect(await kubectl.whoami('--context', 'prod')).toBe('oidc:md-two3');
    const { contexts } = await kubectl.kubeconfig();
    expect(contexts.map(({ name }) => name)).toEqual(['prod']);
    expect(await cluster.get('namespace', 'u-other-md-two3')).toBeDefined();
    await both.remove();
  });
});
