import { generateKeyPairSync } from 'node:crypto';
import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { storedCredentialPath } from '../../../src/credentials/root-credential-store.ts';
import { findCheck, runDoctor } from '../../rig/site/doctor-report.ts';
import { errorLines } from '../../rig/log-lines.ts';
import { send } from '../../rig/site/https.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { TestUsers, type TestUser } from '../../rig/site/test-users.ts';
import { installDirectory, Portal, type PortalTokens } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { BrokerHost } from '../../rig/broker/broker-host.ts';
import { expireCredential, UserKubectl } from '../../rig/site/user-kubectl.ts';

const clientId = 'berth-authenticates';
const secret = 'secret-of-berth-authenticates';
const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'berth-1', use: 'sig', alg: 'ES256' };

let site: Site;
let newcomers: TestUsers;
let portal: Portal;
let erin: TestUser;
let kubectl: UserKubectl;
let host: BrokerHost;
/** The files of `berth.yml`. */
let files: Record<'secret' | 'key' | 'otherKey' | 'certificate' | 'certificateKey', string>;

beforeAll(async () => {
  site = await openSite();
  newcomers = new TestUsers(new LiveCluster(site));
  erin = await newcomers.create('ca-erin');
  await site.keycloak.addUser(erin.name);
  portal = await Portal.make(site);
  const at = (name: string): string => join(portal.directory, name);
  files = {
    secret: at('client.secret'),
    key: at('client.key'),
    otherKey: at('other.key'),
    certificate: at('client.pem'),
    certificateKey: at('client-certificate.key'),
  };
  const pem = { type: 'pkcs8', format: 'pem' } as const;
  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  await writeFile(files.secret, `${secret}\n`, { mode: 0o600 });
  await writeFile(files.key, privateKey.export(pem), { mode: 0o600 });
  await writeFile(files.otherKey, other.export(pem), { mode: 0o600 });
  const certificate = await site.certificates.client(clientId);
  await copyFile(certificate.cert, files.certificate);
  await copyFile(certificate.key, files.certificateKey);
  kubectl = new UserKubectl(site, erin);
  host = await BrokerHost.boot({
    command: [join(installDirectory, 'hooks/credential-broker')],
    config: portal.files.berth,
    stateDir: portal.files.stateDir,
    service: [`ReadWritePaths=${portal.directory}`],
  });
  await host.startSocket(erin.uid);
  kubectl.host = host;
  portal.wrapArgv = (argv) => host.enter(argv);
});
afterAll(async () => {
  await host.stop();
  await newcomers.removeNamespaces();
  await portal.remove();
});

/** Sets up the client at Keycloak with one method of authentication. */
function keycloakClient(authenticator: string, attributes: object = {}): Promise<void> {
  const audience = { 'included.client.audience': clientId, 'access.token.claim': 'true' };
  return site.keycloak.putClient({
    clientId,
    secret,
    clientAuthenticatorType: authenticator,
    directAccessGrantsEnabled: true,
    redirectUris: ['http://127.0.0.1/*'],
    defaultClientScopes: ['basic', 'profile'],
    optionalClientScopes: ['kubernetes'],
    attributes: { 'standard.token.exchange.enabled': 'true', ...attributes },
    protocolMappers: [
      {
        name: 'audience of itself',
        protocol: 'openid-connect',
        protocolMapper: 'oidc-audience-mapper',
        config: audience,
      },
    ],
  });
}

/** Logs in to the portal while Keycloak accepts the client's secret. */
async function login(): Promise<PortalTokens> {
  await keycloakClient('client-secret');
  const { status, text } = await send(site.keycloak.tokenEndpoint, {
    method: 'POST',
    ca: site.ca.pem,
    body: new URLSearchParams({
      ...{ grant_type: 'password', username: erin.name, password: `${erin.name}-password` },
      ...{ client_id: clientId, client_secret: secret, scope: 'openid' },
    }),
  });
  expect(status, text).toBe(200);
  const { access_token, refresh_token } = JSON.parse(text) as Record<string, string>;
  return { accessToken: access_token, refreshToken: refresh_token };
}

const jwt = { 'use.jwks.string': 'true', 'jwks.string': JSON.stringify({ keys: [jwk] }) };

const x509 = {
  'x509.subjectdn': `CN=${clientId}`,
  'x509.allow.regex.pattern.comparison': 'false',
};

const methods: readonly [string, string, object, () => Record<string, string>][] = [
  ['client_secret_basic', 'client-secret', {}, () => ({ client_secret_file: files.secret })],
  ['client_secret_post', 'client-secret', {}, () => ({ client_secret_file: files.secret })],
  [
    'private_key_jwt',
    'client-jwt',
    jwt,
    () => ({ client_key_file: files.key, client_key_id: 'berth-1' }),
  ],
  [
    'tls_client_auth',
    'client-x509',
    x509,
    () => ({
      client_certificate_file: files.certificate,
      client_key_file: files.certificateKey,
    }),
  ],
];

describe.each(methods)('with a client that authenticates with %s', (method, type, more, keys) => {
  it('the hook exchanges the portal’s token, and the broker renews the result', async () => {
    const tokens = await login();
    await keycloakClient(type, more);
    await portal.useExchange({ client_id: clientId, client_auth_method: method, ...keys() });

    const { exitCode, stderr } = await portal.prePun(erin.name, tokens);

    expect(exitCode, stderr).toBe(0);
    expect(await kubectl.whoami()).toBe(`oidc:${erin.name}`);
    await kubectl.expireToken();
    await expireCredential(storedCredentialPath(portal.files.stateDir, erin.uid, 'prod'));
    expect(await kubectl.whoami()).toBe(`oidc:${erin.name}`);
  });

  it('doctor says that Keycloak accepts it', async () => {
    await keycloakClient(type, more);
    await portal.useExchange({ client_id: clientId, client_auth_method: method, ...keys() });
    expect(findCheck(await runDoctor(portal), 'issuer-client')).toMatchObject({ status: 'ok' });
  });
});

describe('a client that Keycloak does not accept', () => {
  it.each<[string, string, object, () => Record<string, string>]>([
    [
      'another key',
      'client-jwt',
      jwt,
      () => ({ client_auth_method: 'private_key_jwt', client_key_file: files.otherKey }),
    ],
    [
      'a secret when Keycloak requires an assertion',
      'client-jwt',
      jwt,
      () => ({ client_auth_method: 'client_secret_post', client_secret_file: files.secret }),
    ],
    [
      'the certificate of another subject',
      'client-x509',
      { ...x509, 'x509.subjectdn': 'CN=another' },
      () => ({
        client_auth_method: 'tls_client_auth',
        client_certificate_file: files.certificate,
        client_key_file: files.certificateKey,
      }),
    ],
  ])(
    'with %s is refused, and the hook’s messages contain no secret',
    async (_, type, more, keys) => {
      const tokens = await login();
      await keycloakClient(type, more);
      await portal.useExchange({ client_id: clientId, ...keys() });

      const { exitCode, stderr } = await portal.prePun(erin.name, tokens);

      expect(exitCode).toBe(78);
      expect(errorLines(stderr)).toMatchObject([
        { code: 'issuer-client-refused', cluster: 'prod' },
      ]);
      for (const value of [secret, String(tokens.accessToken), 'PRIVATE'])
        expect(stderr).not.toContain(value);
    },
  );
});
