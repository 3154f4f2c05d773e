import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import type { ClientMetadata } from 'oidc-provider';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ClientAuth, OidcSettings } from '../../../../src/config/schema/settings.ts';
import { fetchIssuer } from '../../../../src/credentials/oidc/issuer-discovery.ts';
import { tokenEndpointOf } from '../../../../src/credentials/oidc/obtain-token.ts';
import { refreshTokens } from '../../../../src/credentials/oidc/token-endpoint.ts';
import { BerthError } from '../../../../src/system/errors/berth-error.ts';
import {
  type HttpsClient,
  httpsRequest,
  type HttpsRequest,
} from '../../../../src/system/https-request.ts';
import {
  clientSecret,
  confidentialClient,
  publicClient,
  LocalOidcProvider,
  tlsClient,
} from '../../../rig/local-oidc-provider.ts';

const pem = { type: 'pkcs8', format: 'pem' } as const;
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-384' });
const keys = {
  rsa: String(rsa.privateKey.export(pem)),
  ec: String(ec.privateKey.export({ type: 'sec1', format: 'pem' })),
};

function jwtClient(id: string, key: string, kid?: string): ClientMetadata {
  const jwk = { ...createPublicKey(key).export({ format: 'jwk' }), use: 'sig' };
  return {
    client_id: id,
    token_endpoint_auth_method: 'private_key_jwt',
    jwks: { keys: [{ ...jwk, ...(kid !== undefined && { kid }) }] },
  };
}

let provider: LocalOidcProvider;
/** The requests that were sent. */
let requests: HttpsRequest[];
const https: HttpsClient = (request) => {
  requests.push(request);
  return httpsRequest(request);
};
const edges = { https, timeoutMs: 20_000 };

beforeAll(async () => {
  provider = await LocalOidcProvider.start([
    {
      client_id: 'post-client',
      client_secret: clientSecret,
      token_endpoint_auth_method: 'client_secret_post',
    },
    jwtClient('rsa-client', keys.rsa, 'first'),
    { ...jwtClient('ec-client', keys.ec), token_endpoint_auth_signing_alg: 'ES384' },
    {
      client_id: tlsClient,
      token_endpoint_auth_method: 'tls_client_auth',
      tls_client_auth_subject_dn: `CN=${tlsClient}`,
    },
  ]);
});
afterAll(() => provider.stop());
beforeEach(() => {
  requests = [];
});
afterEach(() => {
  provider.intercept = undefined;
});

const certificate = (): ClientAuth => ({
  method: 'tls_client_auth',
  key: readFileSync(provider.clientCertificate.key, 'utf8'),
  certificate: readFileSync(provider.clientCertificate.cert, 'utf8'),
});
const cases: readonly [string, string, () => ClientAuth | undefined][] = [
  ['none', publicClient, () => undefined],
  [
    'client_secret_basic',
    confidentialClient,
    () => ({ method: 'client_secret_basic', secret: clientSecret }),
  ],
  [
    'client_secret_post',
    'post-client',
    () => ({ method: 'client_secret_post', secret: clientSecret }),
  ],
  [
    'private_key_jwt with an RSA key and a kid',
    'rsa-client',
    () => ({ method: 'private_key_jwt', key: keys.rsa, keyId: 'first' }),
  ],
  [
    'private_key_jwt with an EC key',
    'ec-client',
    () => ({ method: 'private_key_jwt', key: keys.ec }),
  ],
  ['tls_client_auth', tlsClient, certificate],
];

const endpoint = (clientId: string, clientAuth: ClientAuth | undefined) => ({
  url: `${provider.issuer}/token`,
  issuer: provider.issuer,
  clientId,
  ca: provider.ca,
  ...(clientAuth && { clientAuth }),
});

const secretsOf = (auth: ClientAuth | undefined): string[] =>
  auth === undefined ? [] : 'secret' in auth ? [auth.secret] : [auth.key];

async function refused(work: Promise<unknown>): Promise<BerthError> {
  const error: unknown = await work.catch((thrown: unknown) => thrown);
  if (!(error instanceof BerthError)) throw new Error(`not refused: ${String(error)}`);
  return error;
}

describe.each(cases)('a client that authenticates with %s', (_, client, auth) => {
  it('gets tokens for a refresh token', async () => {
    const refreshToken = await provider.refreshToken('ann', client);
    const tokens = await refreshTokens(endpoint(client, auth()), refreshToken, edges);
    expect(tokens.idToken?.split('.')).toHaveLength(3);
    expect(tokens.refreshToken).not.toBe(refreshToken);
    expect(tokens).toMatchObject({ accessToken: expect.any(String) as string, expiresIn: 300 });
  });

  it('gets an error without the token when the refresh token was used before', async () => {
    const refreshToken = await provider.refreshToken('ann', client);
    await refreshTokens(endpoint(client, auth()), refreshToken, edges);
    const error = await refused(refreshTokens(endpoint(client, auth()), refreshToken, edges));
    expect(error.code).toBe('refresh-token-refused');
    for (const secret of [...secretsOf(auth()), refreshToken])
      expect(error.message + error.hint + JSON.stringify(error.cause ?? '')).not.toContain(secret);
  });
});

describe('a client that cannot prove its identity is refused', () => {
  it.each<[string, string, () => ClientAuth | undefined]>([
    ['no secret', confidentialClient, () => undefined],
    [
      'a wrong secret',
      confidentialClient,
      () => ({ method: 'client_secret_basic', secret: 'wrong-secret' }),
    ],
    [
      'a wrong secret in the form',
      'post-client',
      () => ({ method: 'client_secret_post', secret: 'wrong-secret' }),
    ],
    ['another key', 'ec-client', () => ({ method: 'private_key_jwt', key: keys.rsa })],
    [
      'an unknown kid',
      'rsa-client',
      () => ({ method: 'private_key_jwt', key: keys.rsa, keyId: 'x' }),
    ],
    ['no certificate', tlsClient, () => undefined],
    [
      'a certificate of another subject',
      tlsClient,
      () => ({
        method: 'tls_client_auth',
        key: readFileSync(join(provider.directory, 'ca/provider.key'), 'utf8'),
        certificate: readFileSync(join(provider.directory, 'ca/provider.pem'), 'utf8'),
      }),
    ],
  ])('with %s', async (_, client, auth) => {
    const refreshToken = await provider.refreshToken('ann', client);
    const error = await refused(refreshTokens(endpoint(client, auth()), refreshToken, edges));
    expect(error.code).toBe('issuer-client-refused');
    expect(error.hint).toContain('credentials.client_auth_method');
    for (const secret of [...secretsOf(auth()), refreshToken])
      expect(error.message + error.hint).not.toContain(secret);
  });
});

describe('the request', () => {
  const sent = async (client: string, auth: ClientAuth | undefined): Promise<HttpsRequest> => {
    await refreshTokens(endpoint(client, auth), await provider.refreshToken('ann', client), edges);
    const [request, ...rest] = requests;
    expect(rest).toEqual([]);
    if (request === undefined) throw new Error('nothing was sent');
    return request;
  };

  it('of client_secret_basic has the secret in the header only, with the least encoding', async () => {
    const { form, headers } = await sent(confidentialClient, {
      method: 'client_secret_basic',
      secret: clientSecret,
    });
    expect(Object.keys(form ?? {})).toEqual(['refresh_token', 'grant_type']);
    const decoded = Buffer.from(headers?.authorization?.slice(6) ?? '', 'base64').toString();
    expect(decoded).toBe(
      'ondemand:s3cret%3Awith%2520%2B%26%3D%2F%7Eand-more-than-thirty-two-characters',
    );
  });

  it('of private_key_jwt has an assertion for the issuer that expires within a minute', async () => {
    const { form = {}, headers } = await sent('rsa-client', {
      ...{ method: 'private_key_jwt', key: keys.rsa, keyId: 'first' },
    });
    const { client_assertion: assertion = '', ...rest } = form;
    expect(decodeProtectedHeader(assertion)).toEqual({ alg: 'RS256', kid: 'first' });
    const { iss, sub, aud, iat = 0, exp = 0 } = decodeJwt(assertion);
    expect({ iss, sub, aud }).toEqual({
      iss: 'rsa-client',
      sub: 'rsa-client',
      aud: provider.issuer,
    });
    expect(exp - iat).toBeLessThanOrEqual(60);
    expect(JSON.stringify({ rest, headers })).not.toContain('PRIVATE');
    expect(rest).not.toHaveProperty('client_secret');
  });

  it('of tls_client_auth has the certificate in the TLS handshake and the client’s name in the form', async () => {
    const { form, headers, clientCertificate } = await sent(tlsClient, certificate());
    expect(clientCertificate?.cert).toContain('BEGIN CERTIFICATE');
    expect(headers).toBeUndefined();
    expect(form).toMatchObject({ client_id: tlsClient });
    expect(JSON.stringify(form)).not.toContain('PRIVATE');
  });
});

describe('the token endpoint', () => {
  const settings = (clientAuth?: ClientAuth): OidcSettings =>
    ({
      ...{ mode: 'oidc', issuer: provider.issuer, clientId: 'c', audience: 'c', token: 'id' },
      ...{ exchange: false, usernameClaim: 'sub', clockSkewSeconds: 0 },
      ...(clientAuth && { clientAuth }),
    }) as const;
  const source = () => ({ issuer: provider.issuer, ca: provider.ca });

  it('is from mtls_endpoint_aliases for tls_client_auth, and for no other method', async () => {
    const { issuer } = provider;
    const document = {
      ...{ issuer, token_endpoint: `${issuer}/token`, jwks_uri: `${issuer}/jwks` },
      mtls_endpoint_aliases: { token_endpoint: 'https://mtls.example.org/token' },
    };
    provider.intercept = (path) =>
      path.includes('well-known') ? { status: 200, body: JSON.stringify(document) } : undefined;
    const found = await fetchIssuer(source(), edges);
    const urlFor = (auth?: ClientAuth) =>
      tokenEndpointOf({ issuer: found, settings: settings(auth) }).url;
    expect(urlFor(certificate())).toBe('https://mtls.example.org/token');
    expect(urlFor()).toBe(`${issuer}/token`);
    // An alias that cannot be used must not cost the other clients their login.
    document.mtls_endpoint_aliases.token_endpoint = 'http://mtls.example.org/token';
    const { mtlsTokenEndpoint } = await fetchIssuer(source(), edges);
    expect(mtlsTokenEndpoint).toBe(`${issuer}/token`);
  });

  it('is the same for all methods when the issuer has no alias', async () => {
    const found = await fetchIssuer(source(), edges);
    expect(found.mtlsTokenEndpoint).toBe(found.tokenEndpoint);
  });
});
