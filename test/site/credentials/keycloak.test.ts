import { randomUUID } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ClusterSettings, OidcSettings } from '../../../src/config/schema/settings.ts';
import { credentialCachePath } from '../../../src/credentials/credential-cache.ts';
import { storedCredentialPath } from '../../../src/credentials/root-credential-store.ts';
import { openIssuer } from '../../../src/credentials/oidc/issuer.ts';
import { loadSiteSettings } from '../../../src/config/load/load-site-settings.ts';
import { clusterCredential } from '../../../src/credentials/cluster-credential.ts';
import type { CredentialFiles } from '../../../src/credentials/credential-files.ts';
import {
  obtainContext,
  type OnDemandTokens,
  renewableToken,
} from '../../../src/credentials/renewable-token.ts';
import { type HttpsClient, httpsRequest } from '../../../src/system/https-request.ts';
import { type Account, ensureAccount } from '../../rig/site/accounts.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { BrokerHost } from '../../rig/broker/broker-host.ts';
import { compileEntryPoint } from '../../rig/compile-entry-point.ts';
import { UserKubectl } from '../../rig/site/user-kubectl.ts';

let site: Site;
let account: Account;
let directory: string;
let stateDir: string;
let plugin: string;
let cluster: ClusterSettings;
let host: BrokerHost | undefined;

const user = 'cred-ann';

beforeAll(async () => {
  site = await openSite();
  account = await ensureAccount(user);
  await site.keycloak.addUser(user);
  await site.keycloak.addUser('cred-bob');
  directory = await mkdtemp(join(tmpdir(), 'berth-keycloak-'));
  await chmod(directory, 0o711);
  stateDir = join(directory, 'state');
  plugin = await compileEntryPoint('shell/kube-credential.ts', directory);
  const config = await configure();
  const loaded = await loadSiteSettings({ configFile: config }, { cache: 'off' });
  [cluster] = loaded.settings.clusters as [ClusterSettings];
  const entry = await compileEntryPoint('hooks/credential-broker.ts', directory);
  host = await BrokerHost.boot({ command: [entry], config, stateDir });
  await host.startSocket(account.uid);
});

afterAll(async () => {
  await host?.stop();
  await rm(directory, { recursive: true });
});

/** OnDemand's confidential client, which exchanges its token for the cluster's audience. */
async function configure(): Promise<string> {
  const { id, secret } = site.keycloak.client('ondemand');
  const clusters = join(directory, 'clusters.d');
  const job = {
    adapter: 'kubernetes',
    cluster: 'test',
    context: 'test',
    bin: site.kubectlPath,
    config_file: '~/.kube/config',
    server: { endpoint: site.server, cert_authority_file: site.ca.file },
    auth: { type: 'oidc' },
  };
  await mkdir(clusters);
  await writeFile(join(clusters, 'test.yml'), JSON.stringify({ v2: { metadata: {}, job } }));
  await writeFile(join(directory, 'secret'), String(secret), { mode: 0o600 });
  const file = join(directory, 'berth.yml');
  const credentials = {
    issuer: site.keycloak.issuer,
    ca_file: site.ca.file,
    client_id: id,
    client_secret_file: join(directory, 'secret'),
    audience: 'kubernetes',
    exchange_scope: 'kubernetes',
  };
  const berth = {
    state_dir: stateDir,
    hook_env: null,
    clusters_dir: clusters,
    defaults: { credentials },
  };
  await writeFile(file, JSON.stringify(berth));
  return file;
}

const exchanging = (): OidcSettings => cluster.credentials as OidcSettings;
const publicClient = (): OidcSettings => {
  const { issuer, caFile = '', audience, usernameClaim, clockSkewSeconds } = exchanging();
  const common = {
    mode: 'oidc',
    issuer,
    caFile,
    audience,
    usernameClaim,
    clockSkewSeconds,
  } as const;
  return { ...common, clientId: 'kubernetes-public', exchange: false, token: 'id' };
};

/** Writes the credentials, as the hook does with the portal's tokens. */
async function give(credentials: OidcSettings, tokens: OnDemandTokens): Promise<CredentialFiles> {
  const person = { ...account, groups: [account.gid], shell: '/bin/sh' };
  return await clusterCredential(person, { ...cluster, credentials }, tokens, {
    stateDir,
    kubeCredentialCommand: plugin,
    https: httpsRequest,
    issuer: ({ issuer }) =>
      openIssuer(
        { issuer, stateDir, ca: site.ca.pem },
        { https: httpsRequest, now: () => Date.now() / 1000, timeoutMs: 5_000 },
      ),
    readCa: () => site.ca.pem,
    now: () => Date.now() / 1000,
    timeoutMs: 5_000,
    lockWaitMs: 5_000,
    mintToken: () => Promise.reject(new Error('not a ServiceAccount')),
  });
}

const login = (client: 'ondemand' | 'kubernetes-public', name = user) =>
  site.keycloak.login(name, { client });

const cacheFile = (): string => join(account.home, credentialCachePath(site.server));

async function expire(file: string): Promise<void> {
  const text = await readFile(file, 'utf8');
  await writeFile(file, text.replace(/"expiry":\d+/, '"expiry":1000'));
}

/** The user's own kubectl, with the user entry that the hook writes. */
async function whoami(prepared: CredentialFiles): Promise<string> {
  // A file for each of twenty at once: none reads what another one writes.
  const file = join(directory, `kubeconfig-${randomUUID()}`);
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: 'c', cluster: { server: site.server, 'certificate-authority': site.ca.file } },
    ],
    users: [{ name: 'u', user: prepared.kubeconfigUser }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  };
  await writeFile(file, JSON.stringify(kubeconfig), { mode: 0o644 });
  const kubectl = new UserKubectl(site, account);
  kubectl.host = host;
  return await kubectl.whoami('--kubeconfig', file);
}

describe("the portal's tokens of a real login", () => {
  it('are exchanged for one that the API server accepts, when they have another audience', async () => {
    const { accessToken, refreshToken } = await login('ondemand');
    const prepared = await give(exchanging(), { accessToken, refreshToken: String(refreshToken) });
    expect(prepared).toMatchObject({ needsBroker: true, warnings: [] });
    expect(await whoami(prepared)).toBe(`oidc:${user}`);
  });

  it('are refused by name when they are for another audience', async () => {
    const { accessToken } = await login('ondemand');
    const settings: OidcSettings = { ...exchanging(), exchange: false };
    await expect(give(settings, { accessToken })).rejects.toMatchObject({ code: 'token-audience' });
  });

  it('are refused when they belong to another user, and are not exchanged', async () => {
    const { accessToken } = await login('ondemand', 'cred-bob');
    await expect(give(exchanging(), { accessToken })).rejects.toMatchObject({
      code: 'token-of-another-user',
    });
  });

  it('are refused when one is passed in place of the other', async () => {
    const { accessToken, idToken, refreshToken } = await login('kubernetes-public');
    const swapped = (tokens: OnDemandTokens) => expect(give(publicClient(), tokens)).rejects;
    await swapped({ idToken: accessToken }).toMatchObject({ code: 'token-type' });
    await swapped({ idToken: String(refreshToken) }).toMatchObject({ code: 'token-algorithm' });
    const access: OidcSettings = { ...publicClient(), token: 'access' };
    await expect(give(access, { accessToken: String(idToken) })).rejects.toMatchObject({
      code: 'token-type',
    });
  });

  it('are refused with what to set at the provider, when it does not exchange them', async () => {
    const { accessToken } = await login('ondemand');
    const refusal = give({ ...exchanging(), exchangeScope: 'openid' }, { accessToken });
    await expect(refusal).rejects.toMatchObject({ code: 'issuer-request-refused' });
    await expect(refusal).rejects.toThrow('Requested audience not available');
    const wrongSecret: OidcSettings = {
      ...exchanging(),
      clientAuth: { method: 'client_secret_basic', secret: 'wrong' },
    };
    await expect(give(wrongSecret, { accessToken })).rejects.toMatchObject({
      code: 'issuer-client-refused',
    });
  });

  it('may have expired, as long as the session is active', async () => {
    const tokens = await login('kubernetes-public');
    const idToken = String(tokens.idToken);
    const refreshToken = String(tokens.refreshToken);
    // Keycloak issues no expired tokens: our clock is late until Keycloak is asked for a new one.
    let late = 400;
    const now = () => Date.now() / 1000 + late;
    const https: HttpsClient = (request) => {
      if (request.method === 'POST') late = 0;
      return httpsRequest(request);
    };
    const source = { issuer: site.keycloak.issuer, stateDir, ca: site.ca.pem };
    const context = await obtainContext(publicClient(), user, {
      https,
      issuer: () => openIssuer(source, { https, now, timeoutMs: 5_000 }),
      readCa: () => site.ca.pem,
      now,
      timeoutMs: 5_000,
    });
    const alone = renewableToken(context, { idToken });
    await expect(alone).rejects.toMatchObject({ code: 'token-expired' });
    const renewed = await renewableToken(context, { idToken, refreshToken });
    expect(renewed.token).not.toBe(idToken);
    expect(renewed.refreshToken).not.toBe(refreshToken);
  });
});

describe('twenty kubectl at once, after the token has expired (refresh tokens are single-use)', () => {
  it('all work with a public client, which the plugin refreshes', async () => {
    const { idToken, refreshToken } = await login('kubernetes-public');
    const tokens = { idToken: String(idToken), refreshToken: String(refreshToken) };
    const prepared = await give(publicClient(), tokens);
    for (let round = 0; round < 2; round += 1) {
      await expire(cacheFile());
      const names = await Promise.all(Array.from({ length: 20 }, () => whoami(prepared)));
      expect(new Set(names)).toEqual(new Set([`oidc:${user}`]));
    }
    // The portal passes the same tokens again; the refresh token was used before.
    await give(publicClient(), tokens);
    await expire(cacheFile());
    expect(await whoami(prepared)).toBe(`oidc:${user}`);
  });

  it("all work with OnDemand's confidential client, by root's broker", async () => {
    const { accessToken, refreshToken } = await login('ondemand');
    const tokens = { accessToken, refreshToken: String(refreshToken) };
    const prepared = await give(exchanging(), tokens);
    const store = storedCredentialPath(stateDir, account.uid, cluster.name);
    for (let round = 0; round < 2; round += 1) {
      await expire(cacheFile());
      await expire(store);
      const names = await Promise.all(Array.from({ length: 20 }, () => whoami(prepared)));
      expect(new Set(names)).toEqual(new Set([`oidc:${user}`]));
    }
    await give(exchanging(), tokens);
    await expire(cacheFile());
    await expire(store);
    expect(await whoami(prepared)).toBe(`oidc:${user}`);
  });
});
