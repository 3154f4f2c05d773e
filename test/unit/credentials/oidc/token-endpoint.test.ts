import { generateKeyPairSync } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ClientAuth } from '../../../../src/config/schema/settings.ts';
import { exchangeToken, refreshTokens } from '../../../../src/credentials/oidc/token-endpoint.ts';
import { BerthError } from '../../../../src/system/errors/berth-error.ts';
import {
  type HttpsClient,
  httpsRequest,
  type HttpsRequest,
} from '../../../../src/system/https-request.ts';
import { LocalOidcProvider } from '../../../rig/local-oidc-provider.ts';

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const key = String(privateKey.export({ type: 'pkcs8', format: 'pem' }));
let provider: LocalOidcProvider;
/** The requests that were sent. */
const requests: HttpsRequest[] = [];
const https: HttpsClient = (request) => {
  requests.push(request);
  return httpsRequest(request);
};
const edges = { https, timeoutMs: 20_000 };

beforeAll(async () => {
  provider = await LocalOidcProvider.start();
});
afterAll(() => provider.stop());
afterEach(() => {
  provider.intercept = undefined;
});

const endpoint = (clientAuth?: ClientAuth) => ({
  url: `${provider.issuer}/token`,
  issuer: provider.issuer,
  clientId: 'c',
  ca: provider.ca,
  ...(clientAuth && { clientAuth }),
});

async function refused(work: Promise<unknown>): Promise<BerthError> {
  const error: unknown = await work.catch((thrown: unknown) => thrown);
  if (!(error instanceof BerthError)) throw new Error(`not refused: ${String(error)}`);
  return error;
}

describe('an answer of the token endpoint', () => {
  const good = { access_token: 'at', token_type: 'Bearer' };
  const answering = (status: number, body: unknown, type = 'application/json') => {
    provider.intercept = () => ({ status, type, body: JSON.stringify(body) });
    return refreshTokens(endpoint(), 'a-refresh-token', edges);
  };

  it('is returned before its ID token is checked: the new refresh token must be stored first', async () => {
    const tokens = { id_token: 'not.a.token', refresh_token: 'next' };
    expect(await answering(200, { ...good, ...tokens })).toEqual({
      ...{ accessToken: 'at', idToken: 'not.a.token', refreshToken: 'next' },
    });
  });

  it.each<[string, number, unknown, string]>([
    ['no access token', 200, { token_type: 'Bearer' }, 'issuer-answer-invalid'],
    ['no token type', 200, { access_token: 'at' }, 'issuer-answer-invalid'],
    [
      'a token type that the API server does not accept',
      200,
      { ...good, token_type: 'DPoP' },
      'issuer-answer-invalid',
    ],
    ['an unknown token type', 200, { ...good, token_type: 'mac' }, 'issuer-answer-invalid'],
    ['a list', 200, [], 'issuer-answer-invalid'],
    ['null', 200, null, 'issuer-answer-invalid'],
    ['another status than 200', 201, good, 'issuer-answer-invalid'],
    ['a redirect', 302, {}, 'issuer-answer-invalid'],
    ['404 Not Found', 404, {}, 'issuer-answer-invalid'],
    ['too many requests', 429, {}, 'issuer-unavailable'],
    ['503 Service Unavailable', 503, {}, 'issuer-unavailable'],
    [
      'an unknown error',
      400,
      { error: 'invalid_scope', error_description: 1 },
      'issuer-request-refused',
    ],
    [
      'an error named like a property of Object',
      400,
      { error: 'toString' },
      'issuer-request-refused',
    ],
    ['a refusal of the client', 401, { error: 'invalid_client' }, 'issuer-client-refused'],
  ])('with %s has its error code', async (_, status, body, code) => {
    const error = await refused(answering(status, body));
    expect(error.code).toBe(code);
    expect(error.cause).toBeUndefined();
  });

  it('that is a web page is refused', async () => {
    expect((await refused(answering(200, '<p>', 'text/html'))).code).toBe('issuer-answer-invalid');
  });

  it('never leads to a message with a secret, when the provider repeats the whole request', async () => {
    const secret = 'the-secret-of-the-client';
    provider.intercept = () => {
      const form = requests.at(-1)?.form ?? {};
      const error_description = `${JSON.stringify(form)} ${secret} \u001b[31m`;
      return { status: 400, body: JSON.stringify({ error: 'invalid_request', error_description }) };
    };
    const auths: ClientAuth[] = [
      { method: 'client_secret_basic', secret },
      { method: 'client_secret_post', secret },
      { method: 'private_key_jwt', key: key },
    ];
    for (const auth of auths) {
      const subjectToken = 'a-subject-token-of-the-portal';
      const request = { subjectToken, audience: 'kubernetes' };
      const error = await refused(exchangeToken(endpoint(auth), request, edges));
      const assertion = requests.at(-1)?.form?.client_assertion ?? secret;
      for (const value of [secret, subjectToken, assertion.slice(-40)])
        expect(error.message).not.toContain(
          auth.method === 'private_key_jwt' && value === secret ? subjectToken : value,
        );
      expect(error.message).toMatch(/^[\x20-\x7e’]*$/);
    }
  });
});
