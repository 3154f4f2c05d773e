import { ClientError, customFetch, discovery } from 'openid-client';
import { BerthError } from '../../system/errors/berth-error.ts';
import { escapeControl } from '../../log.ts';
import { invalidResponse, type HttpsResponse, notHttps } from '../../system/https-request.ts';
import {
  berthErrorIn,
  providerFetch,
  type ProviderEdges,
  unexpectedStatus,
} from './provider-fetch.ts';
import type { SigningKey } from './verify-token.ts';

export interface IssuerMetadata {
  readonly tokenEndpoint: string;
  /** For `tls_client_auth`, RFC 8705 section 5; the same as `tokenEndpoint` unless the issuer has another. */
  readonly mtlsTokenEndpoint: string;
  readonly jwksUri: string;
  readonly keys: readonly SigningKey[];
  /** `grant_types_supported`, if the issuer publishes it. */
  readonly grantTypes?: readonly string[];
}

/** More keys than these are ignored; a realm has two or three. */
const maximumKeys = 100;

/**
 * Requests an issuer's endpoints and public keys: OpenID Connect Discovery 1.0 section 4, then the JWKS of
 * RFC 7517.
 *
 * @throws {BerthError} `issuer-mismatch`, `issuer-answer-invalid`, `issuer-unavailable`, `issuer-no-keys`,
 *   and what `httpsRequest` throws.
 */
export async function fetchIssuer(
  { issuer, ca }: { readonly issuer: string; readonly ca?: string },
  edges: ProviderEdges,
): Promise<IssuerMetadata> {
  const tls = ca === undefined ? {} : { ca };
  // Discovery 4.1: without the issuer's trailing slash.
  const address = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const fetch = providerFetch(edges, tls, (answer) => {
    assertOk(new URL(address), answer);
    // Discovery 4.3: compared exactly, or else another issuer's keys could be used.
    const named = (answer.json as { readonly issuer?: unknown }).issuer;
    if (named !== issuer) throw mismatch(issuer, named);
    return answer;
  });
  const document = await discovery(new URL(issuer), 'berth', {}, undefined, {
    [customFetch]: fetch,
  }).then(
    (configuration) => configuration.serverMetadata(),
    (thrown: unknown) => {
      if (!(thrown instanceof ClientError)) throw thrown;
      if (thrown.code === 'OAUTH_HTTP_REQUEST_FORBIDDEN') throw notHttps(new URL(address));
      throw (
        berthErrorIn(thrown) ?? invalidResponse(new URL(address), escapeControl(thrown.message))
      );
    },
  );
  const tokenEndpoint = httpsAddress(address, document.token_endpoint, 'token_endpoint');
  const jwksUri = httpsAddress(address, document.jwks_uri, 'jwks_uri');
  const { mtls_endpoint_aliases: aliases, grant_types_supported: grantTypes } = document;
  const answer = await edges.https({
    method: 'GET',
    url: jwksUri,
    timeoutMs: edges.timeoutMs,
    ...tls,
    ...(edges.signal && { signal: edges.signal }),
  });
  assertOk(new URL(jwksUri), answer);
  const { keys } = answer.json as { readonly keys?: unknown };
  const usable = (Array.isArray(keys) ? keys : []).flatMap(publicKeyOf).slice(0, maximumKeys);
  if (usable.length === 0) {
    throw new BerthError(
      'issuer-no-keys',
      `${escapeControl(jwksUri)} contains no public signing key`,
    );
  }
  return {
    tokenEndpoint,
    mtlsTokenEndpoint: isHttps(aliases?.token_endpoint) ? aliases.token_endpoint : tokenEndpoint,
    jwksUri,
    keys: usable,
    ...(Array.isArray(grantTypes) && { grantTypes }),
  };
}

function assertOk(url: URL, { status, json }: HttpsResponse): void {
  if (status !== 200) throw unexpectedStatus(url, status);
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw invalidResponse(url, 'a body that is not a JSON object');
}

function mismatch(issuer: string, named: unknown): BerthError {
  const name = typeof named === 'string' ? escapeControl(named).slice(0, 200) : '';
  return new BerthError(
    'issuer-mismatch',
    `the discovery document of '${issuer}' has the issuer '${name}'`,
  );
}

function httpsAddress(document: string, value: unknown, name: string): string {
  if (isHttps(value)) return value;
  throw invalidResponse(new URL(document), `a ${name} that is not an https address`);
}

function isHttps(value: unknown): value is string {
  return typeof value === 'string' && value.startsWith('https://') && URL.canParse(value);
}

/** The public members of a key for signatures; nothing for other keys. */
function publicKeyOf(entry: unknown): readonly SigningKey[] {
  if (typeof entry !== 'object' || entry === null) return [];
  const key = entry as Readonly<Record<string, unknown>>;
  if (!['RSA', 'EC', 'OKP'].includes(key.kty as string)) return [];
  if (key.use !== undefined && key.use !== 'sig') return [];
  const members = ['kty', 'kid', 'alg', 'use', 'crv', 'n', 'e', 'x', 'y']
    .map((member) => [member, key[member]] as const)
    .filter(([, value]) => typeof value === 'string');
  return [Object.fromEntries(members) as unknown as SigningKey];
}
