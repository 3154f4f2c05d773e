import { createPrivateKey, type webcrypto } from 'node:crypto';
import * as oidc from 'openid-client';
import type { ClientAuth } from '../../config/schema/settings.ts';
import { BerthError, type ErrorCode } from '../../system/errors/berth-error.ts';
import { escapeControl } from '../../log.ts';
import { invalidResponse } from '../../system/https-request.ts';
import {
  berthErrorIn,
  type ProviderEdges,
  providerFetch,
  unexpectedStatus,
} from './provider-fetch.ts';

/** Where tokens are requested, and as which client. */
export interface TokenEndpoint {
  readonly url: string;
  /** The audience of a `private_key_jwt` assertion; not needed otherwise. */
  readonly issuer?: string;
  readonly clientId: string;
  /** Absent for a public client. */
  readonly clientAuth?: ClientAuth;
  /** PEM bundle for the provider's certificate. */
  readonly ca?: string;
}

/** A token response, RFC 6749 5.1 and OpenID Connect Core 3.1.3.3. */
export interface TokenSet {
  readonly accessToken: string;
  /** Not verified. */
  readonly idToken?: string;
  /** Present when the provider issued a new one: the one that was sent may be invalid now. */
  readonly refreshToken?: string;
  /** Lifetime of the access token, in seconds. */
  readonly expiresIn?: number;
}

/**
 * Exchanges a refresh token for new tokens, RFC 6749 section 6. No scope is requested: it stays as it was.
 *
 * @returns The new tokens, with the refresh token for the next time: a new one where the provider
 *   rotates them, else the same.
 * @throws {BerthError} `refresh-token-refused` (`invalid_grant`), `issuer-client-refused`
 *   (`invalid_client`, `unauthorized_client`), `issuer-request-refused` (any other OAuth error),
 *   `issuer-unavailable`, `issuer-answer-invalid`, and what `httpsRequest` throws. No message contains a secret
 *   that was sent, even where the provider repeats it.
 */
export async function refreshTokens(
  endpoint: TokenEndpoint,
  refreshToken: string,
  edges: ProviderEdges,
): Promise<TokenSet & { readonly refreshToken: string }> {
  const tokens = await requestTokens(
    endpoint,
    'refresh_token',
    { refresh_token: refreshToken },
    edges,
  );
  return { ...tokens, refreshToken: tokens.refreshToken ?? refreshToken };
}

export interface ExchangeRequest {
  /** The portal's access token. */
  readonly subjectToken: string;
  readonly audience: string;
  /** For providers where an optional client scope adds the audience. */
  readonly scope?: string;
  /** Requests a refresh token, too, which is independent of the portal's. */
  readonly ownRefreshToken?: boolean;
}

/**
 * Exchanges the portal's access token for one with the cluster's audience: RFC 8693, in the form of
 * Keycloak's standard token exchange (V2), where the client must be confidential and in the audience of
 * the token that it sends. The result must be verified like any other token.
 *
 * @returns The access token for `audience`; with a refresh token where one was requested.
 * @throws {BerthError} what `refreshTokens` throws; `issuer-request-refused` when the exchange is not allowed.
 */
export function exchangeToken(
  endpoint: TokenEndpoint,
  { subjectToken, audience, scope, ownRefreshToken = false }: ExchangeRequest,
  edges: ProviderEdges,
): Promise<TokenSet> {
  const tokenType = (name: string): string => `urn:ietf:params:oauth:token-type:${name}`;
  const parameters = {
    subject_token: subjectToken,
    subject_token_type: tokenType('access_token'),
    requested_token_type: tokenType(ownRefreshToken ? 'refresh_token' : 'access_token'),
    audience,
    ...(scope !== undefined && { scope }),
  };
  return requestTokens(
    endpoint,
    'urn:ietf:params:oauth:grant-type:token-exchange',
    parameters,
    edges,
  );
}

async function requestTokens(
  endpoint: TokenEndpoint,
  grantType: string,
  parameters: Readonly<Record<string, string>>,
  edges: ProviderEdges,
): Promise<TokenSet> {
  const { url, issuer = url, clientId, clientAuth, ca } = endpoint;
  const config = new oidc.Configuration(
    { issuer, token_endpoint: url },
    clientId,
    {},
    clientAuthentication(clientAuth),
  );
  let status = 0;
  let idToken: unknown;
  let sent: Readonly<Record<string, string>> = {};
  const tls = {
    ca,
    ...(clientAuth?.method === 'tls_client_auth' && {
      clientCertificate: { cert: clientAuth.certificate, key: clientAuth.key },
    }),
  };
  config[oidc.customFetch] = providerFetch(edges, tls, (answer, form) => {
    ({ status } = answer);
    sent = form;
    if (status !== 200 || typeof answer.json !== 'object' || answer.json === null) return answer;
    // openid-client would check the ID token now: a failure must not lose the new refresh token.
    const { id_token, ...json } = answer.json as Record<string, unknown>;
    idToken = id_token;
    return { status, json };
  });
  try {
    const answer = await oidc.genericGrantRequest(config, grantType, parameters);
    // RFC 8693 2.2.1 has n_a, too. openid-client also takes `dpop`, which the API server cannot.
    if (!['bearer', 'n_a'].includes(answer.token_type))
      throw new TypeError('its token_type is not Bearer');
    return {
      accessToken: answer.access_token,
      ...(typeof idToken === 'string' && { idToken }),
      refreshToken: answer.refresh_token,
      expiresIn: answer.expires_in,
    };
  } catch (thrown) {
    const secrets = ['refresh_token', 'subject_token', 'client_secret', 'client_assertion'].map(
      (name) => sent[name] ?? '',
    );
    const secret = clientAuth && 'secret' in clientAuth ? clientAuth.secret : '';
    throw tokenError(new URL(url), status, thrown, [...secrets, secret]);
  }
}

/** RFC 6749 5.2. */
const refusals: ReadonlyMap<string, ErrorCode> = new Map([
  ['invalid_grant', 'refresh-token-refused'],
  ['invalid_client', 'issuer-client-refused'],
  ['unauthorized_client', 'issuer-client-refused'],
]);

/** Errors of openid-client are not kept as the cause: they contain the provider's whole answer. */
function tokenError(
  url: URL,
  status: number,
  thrown: unknown,
  secrets: readonly string[],
): BerthError {
  const own = berthErrorIn(thrown);
  if (own !== undefined) return own;
  const where = escapeControl(`${url.host}${url.pathname}`);
  if (thrown instanceof oidc.ResponseBodyError) {
    const { error, error_description: description } = thrown;
    const text = secrets
      .filter((value) => value.length >= 8)
      .reduce(
        (redacted, value) => redacted.replaceAll(value, '[redacted]'),
        description === undefined ? error : `${error}: ${description}`,
      );
    return new BerthError(
      refusals.get(error) ?? 'issuer-request-refused',
      `${where} refused (${status}): ${escapeControl(text).slice(0, 300)}`,
    );
  }
  if (status !== 200) return unexpectedStatus(url, status);
  const { message, cause } = thrown as Error;
  const reason = cause instanceof Error ? cause.message : message;
  return invalidResponse(url, `an invalid token response: ${escapeControl(reason)}`);
}

/**
 * How a request to the token endpoint proves which client it is from: OpenID Connect Core section 9. With
 * `tls_client_auth` (RFC 8705 section 2.1) the connection proves it, and the form names the client only.
 */
function clientAuthentication(auth: ClientAuth | undefined): oidc.ClientAuth {
  switch (auth?.method) {
    case undefined:
      return oidc.None();
    case 'client_secret_basic':
      return basic(auth.secret);
    case 'client_secret_post':
      return oidc.ClientSecretPost(auth.secret);
    case 'private_key_jwt':
      return oidc.PrivateKeyJwt({
        key: signingKey(auth.key),
        kid: auth.keyId,
      });
    case 'tls_client_auth':
      return oidc.TlsClientAuth();
  }
}

/**
 * RFC 6749 2.3.1: both are form-encoded before they are joined. openid-client also encodes `-`, `_` and
 * `.`; a provider that does not decode the header would look for a client of another name.
 */
function basic(secret: string): oidc.ClientAuth {
  return (_server, { client_id }, _body, headers) => {
    const encoded = [client_id, secret].map((text) =>
      new URLSearchParams({ '': text }).toString().slice(1),
    );
    headers.set('authorization', `Basic ${Buffer.from(encoded.join(':')).toString('base64')}`);
  };
}

/** RS256 with an RSA key, ES256, ES384 or ES512 with a key of that curve. */
function signingKey(pem: string): webcrypto.CryptoKey {
  const key = createPrivateKey(pem);
  const curves: Readonly<Record<string, string>> = {
    prime256v1: 'P-256',
    secp384r1: 'P-384',
    secp521r1: 'P-521',
  };
  const namedCurve = curves[key.asymmetricKeyDetails?.namedCurve ?? ''];
  const algorithm =
    namedCurve === undefined
      ? { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }
      : { name: 'ECDSA', namedCurve };
  return key.toCryptoKey(algorithm, false, ['sign']);
}
