import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { OidcSettings } from '../../../src/config/schema/settings.ts';
import {
  type StoredCredential,
  storedCredentialPath,
} from '../../../src/credentials/root-credential-store.ts';
import { openIssuer } from '../../../src/credentials/oidc/issuer.ts';
import {
  obtainContext,
  type OnDemandTokens,
  renewableToken,
  type RenewableToken,
} from '../../../src/credentials/renewable-token.ts';
import { type HttpsClient, httpsRequest } from '../../../src/system/https-request.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { TestUsers, type TestUser } from '../../rig/site/test-users.ts';
import { installDirectory, Portal, type PortalTokens } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { BrokerHost } from '../../rig/broker/broker-host.ts';
import { expireCredential, UserKubectl } from '../../rig/site/user-kubectl.ts';

let site: Site;
let newcomers: TestUsers;
let portal: Portal;
let dana: TestUser;
let kubectl: UserKubectl;
let host: BrokerHost;

beforeAll(async () => {
  site = await openSite();
  newcomers = new TestUsers(new LiveCluster(site));
  dana = await newcomers.create('or-dana');
  await site.keycloak.addUser(dana.name);
  portal = await Portal.make(site);
  kubectl = new UserKubectl(site, dana);
  host = await BrokerHost.boot({
    command: [join(installDirectory, 'hooks/credential-broker')],
    config: portal.files.berth,
    stateDir: portal.files.stateDir,
    service: [`ReadWritePaths=${portal.directory}`],
  });
  await host.startSocket(dana.uid);
  kubectl.host = host;
  portal.wrapArgv = (argv) => host.enter(argv);
});
afterEach(() => site.keycloak.rotateRefreshTokens(true));
afterAll(async () => {
  await host.stop();
  await newcomers.removeNamespaces();
  await portal.remove();
});

/** @returns The user that kubectl is after its token expired, or kubectl's error. */
async function renewed(): Promise<string> {
  await kubectl.expireToken();
  await expireCredential(storedCredentialPath(portal.files.stateDir, dana.uid, 'prod'));
  return kubectl.whoami();
}

async function login(tokens: PortalTokens): Promise<void> {
  const { exitCode, stderr } = await portal.prePun(dana.name, tokens);
  expect(exitCode, stderr).toBe(0);
}

/** Renews the portal's tokens, as OIDCRefreshAccessTokenBeforeExpiry does. */
const portalRenews = ({ refreshToken = '' }: PortalTokens): Promise<PortalTokens> =>
  site.keycloak.refresh(refreshToken);

describe.each([
  ['rotates', true],
  ['does not rotate', false],
])(
  'with a provider that %s refresh tokens and a portal that renews its tokens',
  (_case, rotates) => {
    it('kubectl works on when it has a refresh token of its own', async () => {
      await site.keycloak.rotateRefreshTokens(rotates);
      await portal.useExchange({ own_refresh_token: true });
      let tokens: PortalTokens = await site.keycloak.login(dana.name);
      await login(tokens);
      for (let turn = 0; turn < 3; turn += 1) {
        expect(await renewed()).toBe(`oidc:${dana.name}`);
        tokens = await portalRenews(tokens);
      }
      // The user's nginx starts again, with the portal's current tokens.
      await login(tokens);
      expect(await renewed()).toBe(`oidc:${dana.name}`);
      await portalRenews(tokens);
    });

    it(`with a shared refresh token ${rotates ? 'one of the two loses its session' : 'both work on'}`, async () => {
      await site.keycloak.rotateRefreshTokens(rotates);
      await portal.useExchange();
      const tokens = await site.keycloak.login(dana.name);
      await login(tokens);
      expect(await renewed()).toBe(`oidc:${dana.name}`);
      const portals = portalRenews(tokens);
      if (rotates) await expect(portals).rejects.toThrow('invalid_grant');
      else await portals;
      const said = await renewed();
      if (rotates) expect(said).toMatch(/\[refresh-token-refused\].*Log out of the portal/);
      else expect(said).toBe(`oidc:${dana.name}`);
    });
  },
);

describe('after a logout at the provider', () => {
  it('kubectl stops working with the portal’s tokens, and works on with offline tokens', async () => {
    await portal.useExchange({ own_refresh_token: true });
    await login(await site.keycloak.login(dana.name));
    await site.keycloak.logout(dana.name);
    expect(await renewed()).toMatch(/\[refresh-token-refused\]/);

    await portal.useExchange();
    await login(await site.keycloak.login(dana.name, { scope: 'openid offline_access' }));
    await site.keycloak.logout(dana.name);
    expect(await renewed()).toBe(`oidc:${dana.name}`);
  });
});

describe('a portal whose access token has expired', () => {
  /** The hook's part, with a late clock until it asks Keycloak, which issues no expired tokens. */
  const lateLogin = async (
    tokens: OnDemandTokens,
    stored?: StoredCredential,
  ): Promise<RenewableToken> => {
    let late = 400;
    const now = () => Date.now() / 1000 + late;
    const https: HttpsClient = (request) => {
      if (request.method === 'POST') late = 0;
      return httpsRequest(request);
    };
    const { issuer } = site.keycloak;
    const { id, secret = '' } = site.keycloak.client('ondemand');
    const settings: OidcSettings = {
      ...{ mode: 'oidc', issuer, clientId: id, token: 'access' },
      clientAuth: { method: 'client_secret_basic', secret },
      caFile: site.ca.file,
      ...{ audience: 'kubernetes', exchange: true, exchangeScope: 'kubernetes' },
      ...{ ownRefreshToken: true, usernameClaim: 'preferred_username', clockSkewSeconds: 60 },
    };
    const source = { issuer, stateDir: portal.files.stateDir, ca: site.ca.pem };
    const context = await obtainContext(settings, dana.name, {
      https,
      issuer: () => openIssuer(source, { https, now, timeoutMs: 5_000 }),
      readCa: () => site.ca.pem,
      now,
      timeoutMs: 5_000,
    });
    return renewableToken(context, tokens, stored && { stored });
  };

  it('keeps its refresh token: the hook never uses it', async () => {
    await site.keycloak.rotateRefreshTokens(true);
    await portal.useExchange({ own_refresh_token: true });
    const tokens = await site.keycloak.login(dana.name);
    await login(tokens);
    const store = storedCredentialPath(portal.files.stateDir, dana.uid, 'prod');
    const stored = JSON.parse(await readFile(store, 'utf8')) as StoredCredential;

    const { accessToken } = tokens;
    await expect(lateLogin({ accessToken })).rejects.toMatchObject({ code: 'token-expired' });
    const again = await lateLogin(tokens, stored);
    expect(again).toMatchObject({ own: true, origin: stored.origin, turn: 1 });
    const after = await portalRenews(tokens);
    expect(after.refreshToken).not.toBe(tokens.refreshToken);

    // kubectl's session has ended, and the portal's new refresh token is not used in its place.
    const next = await site.keycloak.login(dana.name);
    await expect(lateLogin(next, stored)).rejects.toMatchObject({ code: 'refresh-token-refused' });
    await expect(lateLogin(next)).rejects.toMatchObject({ code: 'token-expired' });
    await portalRenews(next);
  });
});
