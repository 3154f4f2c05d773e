import { BerthError } from '../../errors.ts';
import { escapeControl } from '../../log.ts';
import { badAnswer, type HttpsClient } from '../../system/https-request.ts';
import type { SigningKey } from './token-signature.ts';

export interface IssuerDocuments {
  readonly tokenEndpoint: string;
  readonly jwksUri: string;
  readonly keys: readonly SigningKey[];
}

interface DiscoveryEdges {
  readonly https: HttpsClient;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/** What a key set may hold of keys that are kept; a realm has two or three. */
const maximumKeys = 100;

/**
 * Asks an issuer for its endpoints and its public keys: OpenID Connect Discovery 1.0 section 4, then
 * the JWKS of RFC 7517.
 *
 * @throws {BerthError} `issuer-mismatch`, `issuer-answer-invalid`, `issuer-unavailable`, `issuer-no-keys`,
 *   and what `httpsRequest` throws.
 */
export async function fetchIssuer(
  source: { readonly issuer: string; readonly ca?: string },
  edges: DiscoveryEdges,
): Promise<IssuerDocuments> {
  const get = async (address: string): Promise<Readonly<Record<string, unknown>>> => {
    const { status, json } = await edges.https({
      method: 'GET',
      url: address,
      timeoutMs: edges.timeoutMs,
      ...(source.ca !== undefined && { ca: source.ca }),
      ...(edges.signal && { signal: edges.signal }),
    });
    return objectOf(new URL(address), status, json);
  };

  // Discovery 4.1: a trailing slash of the issuer is taken off first.
  const address = `${source.issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const document = await get(address);
  // Discovery 4.3: or else another issuer's keys could be slipped in.
  if (document.issuer !== source.issuer) {
    const named = typeof document.issuer === 'string' ? escapeControl(document.issuer) : 'nobody';
    throw new BerthError(`the issuer '${source.issuer}' calls itself '${named.slice(0, 200)}'`, {
      code: 'issuer-mismatch',
      exit: 'config',
      hint: 'Write IDP_ISSUER_URL (or credentials.issuer) exactly as the provider’s .well-known/openid-configuration has it.',
    });
  }
  const tokenEndpoint = httpsAddress(address, document.token_endpoint, 'token_endpoint');
  const jwksUri = httpsAddress(address, document.jwks_uri, 'jwks_uri');
  const { keys } = await get(jwksUri);
  const usable = (Array.isArray(keys) ? keys : []).flatMap(publicKeyOf).slice(0, maximumKeys);
  if (usable.length === 0) {
    throw new BerthError(`${escapeControl(jwksUri)} holds no public signing key`, {
      code: 'issuer-no-keys',
      exit: 'unavailable',
      hint: 'Look at the realm’s keys at the identity provider.',
    });
  }
  return { tokenEndpoint, jwksUri, keys: usable };
}

function objectOf(url: URL, status: number, json: unknown): Readonly<Record<string, unknown>> {
  if (status >= 500 || status === 429) {
    throw new BerthError(`${url.host}${url.pathname} answered with HTTP ${status}`, {
      code: 'issuer-unavailable',
      exit: 'temporary',
      hint: 'Look at the identity provider’s own log; the next login tries again.',
    });
  }
  if (status !== 200) throw badAnswer(url, `HTTP ${status}`);
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw badAnswer(url, 'something that is not a JSON object');
  }
  return json as Readonly<Record<string, unknown>>;
}

function httpsAddress(document: string, value: unknown, name: string): string {
  if (typeof value === 'string' && value.startsWith('https://') && URL.canParse(value))
    return value;
  throw badAnswer(new URL(document), `no https address as ${name}`);
}

/** The public members of a key that may verify signatures, and no others. */
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
