import {
  constants,
  createPublicKey,
  type KeyObject,
  verify,
  type VerifyKeyObjectInput,
} from 'node:crypto';
import { BerthError } from '../../system/errors/berth-error.ts';
import { escapeControl } from '../../log.ts';
import { isMapping, type Mapping } from '../../system/text/mapping.ts';
import {
  checkIssuerClaim,
  type ClaimsExpectation,
  type TokenClaims,
  verifyClaims,
} from './verify-claims.ts';
import { parsedJson } from '../../system/text/parsed-json.ts';

export interface TokenExpectation extends ClaimsExpectation {
  /** The issuer's public keys, from its JWKS. */
  readonly keys: readonly SigningKey[];
}

/** Bytes. Linux limits a variable of the environment to 128 KiB. */
const maximumLength = 64 * 1024;

/**
 * Checks a token as RFC 7519 section 7.2 and OpenID Connect Core 3.1.3.7 require, and that it belongs to
 * this user.
 *
 * @returns The claims.
 * @throws {BerthError} `token-malformed`, `token-too-large`, `token-algorithm`,
 *   `token-key-unknown`, `token-signature`, `token-type`, `token-issuer`, `token-audience`,
 *   `token-authorized-party`, `token-expired`, `token-not-yet-valid`, `token-of-another-user`.
 *   A message contains nothing of the token but the claim that is wrong.
 */
export function verifyToken(jwt: string, expected: TokenExpectation): TokenClaims {
  if (jwt.length > maximumLength) {
    throw new BerthError(
      'token-too-large',
      `the token has ${jwt.length} bytes; Berth accepts at most ${maximumLength}`,
    );
  }
  const parts = jwt.split('.');
  const [header, payload, signature] = parts;
  if (header === undefined || payload === undefined || signature === undefined || !isJws(parts)) {
    throw malformed(
      parts.length === 5
        ? 'it is encrypted (JWE)'
        : 'it does not have the form header.payload.signature',
    );
  }
  const protectedHeader = parseObject(header, 'header');
  // RFC 7515 4.1.11: a token with a critical extension that is not supported is invalid.
  if ('crit' in protectedHeader) throw malformed('its header requires an extension (crit)');

  try {
    checkSignature(jwt, protectedHeader, expected.keys);
  } catch (error) {
    // With a token of another issuer, the issuer is the fault to report, not the key.
    if (error instanceof KeyMismatch) checkIssuerClaim(parseObject(payload, 'payload'), expected);
    throw error;
  }
  return verifyClaims(protectedHeader.typ, parseObject(payload, 'payload'), expected);
}

/**
 * Reads the claims of a token without any check: only to choose between tokens, never to trust one.
 *
 * @returns Nothing for a token that is not a JWT (an opaque token).
 */
export function decodeUnverifiedClaims(jwt: string): Readonly<Record<string, unknown>> | undefined {
  const parts = jwt.split('.');
  if (jwt.length > maximumLength || !isJws(parts)) return undefined;
  try {
    return parseObject(parts[1] ?? '', 'payload');
  } catch {
    return undefined;
  }
}

/**
 * When a token expires, in seconds since the epoch. The token is not verified: the issuer has just sent it
 * over https.
 *
 * @param expiresIn The response's `expires_in`, in seconds: for a token that is not a JWT.
 */
export function expiryOf(token: string, expiresIn: number | undefined, now: number): number {
  const expiry = decodeUnverifiedClaims(token)?.exp;
  return typeof expiry === 'number' ? expiry : Math.floor(now + (expiresIn ?? 60));
}

/** RFC 7515 7.1: three parts, base64url without padding. An empty signature is `alg: none`. */
function isJws(parts: readonly string[]): boolean {
  return (
    parts.length === 3 &&
    parts.every((part, index) => /^[\w-]+$/.test(part) || (index === 2 && part === ''))
  );
}

function parseObject(part: string, name: string): Mapping {
  const value = parsedJson(Buffer.from(part, 'base64url').toString('utf8'));
  if (value === undefined) throw malformed(`its ${name} is not JSON`);
  if (!isMapping(value)) throw malformed(`its ${name} is not a JSON object`);
  return value;
}

function malformed(why: string): BerthError {
  return new BerthError('token-malformed', `the token is not a signed JWT: ${why}`);
}

/** A public key of a JWKS, RFC 7517; only the members that matter here. */
export interface SigningKey {
  readonly kty: string;
  readonly kid?: string;
  readonly alg?: string;
  readonly use?: string;
  readonly key_ops?: readonly unknown[];
  readonly crv?: string;
  readonly n?: string;
  readonly e?: string;
  readonly x?: string;
  readonly y?: string;
}

/** A refusal that newer keys of the issuer could change: it may have replaced one, under the same `kid`, too. */
export class KeyMismatch extends BerthError {}

interface Algorithm {
  readonly kty: string;
  readonly hash: string | null;
  /** The curve, for EC and OKP (RFC 7518 3.4, RFC 8037 3.1). */
  readonly crv?: string;
  readonly pss?: boolean;
}

const ed25519: Algorithm = { kty: 'OKP', hash: null, crv: 'Ed25519' };

/**
 * Public-key signatures only: `none` is no signature, and with HS256 anybody could sign with the public key
 * as the secret (RFC 8725 2.1, 3.1).
 */
const algorithms: ReadonlyMap<unknown, Algorithm> = new Map<string, Algorithm>([
  ['RS256', { kty: 'RSA', hash: 'sha256' }],
  ['RS384', { kty: 'RSA', hash: 'sha384' }],
  ['RS512', { kty: 'RSA', hash: 'sha512' }],
  ['PS256', { kty: 'RSA', hash: 'sha256', pss: true }],
  ['PS384', { kty: 'RSA', hash: 'sha384', pss: true }],
  ['PS512', { kty: 'RSA', hash: 'sha512', pss: true }],
  ['ES256', { kty: 'EC', hash: 'sha256', crv: 'P-256' }],
  ['ES384', { kty: 'EC', hash: 'sha384', crv: 'P-384' }],
  ['ES512', { kty: 'EC', hash: 'sha512', crv: 'P-521' }],
  // RFC 9864: `Ed25519` and, with a key of that curve, `EdDSA` are one algorithm.
  ['EdDSA', ed25519],
  ['Ed25519', ed25519],
]);

/**
 * Checks the signature of a compact JWS with the key that its header names, where the issuer published that
 * key for the header's algorithm (RFC 8725 3.1). Keys that cannot be used are skipped.
 *
 * @param header The token's protected header, not yet trusted.
 * @throws {KeyMismatch} `token-key-unknown`, `token-signature`, `token-algorithm` if the key does not fit
 * @throws {BerthError} `token-algorithm` if it is never allowed
 */
function checkSignature(
  jwt: string,
  header: Readonly<Record<string, unknown>>,
  keys: readonly SigningKey[],
): void {
  const { alg, kid } = header;
  const algorithm = algorithms.get(alg);
  if (algorithm === undefined) {
    throw new BerthError(
      'token-algorithm',
      `the token's signature algorithm ${quoted(alg)} is not allowed`,
    );
  }
  const named = keys.filter((key) => kid === undefined || key.kid === kid);
  if (named.length === 0) {
    throw new KeyMismatch(
      'token-key-unknown',
      `the token is signed with a key that the issuer does not publish (kid ${quoted(kid)})`,
    );
  }
  const usable = named.flatMap((key) => publicKey(key, algorithm) ?? []);
  const signed = Buffer.from(jwt.slice(0, jwt.lastIndexOf('.')));
  const signature = Buffer.from(jwt.slice(jwt.lastIndexOf('.') + 1), 'base64url');
  // Without a kid several keys may fit; one valid signature is enough (RFC 7515 appendix D).
  if (usable.some((key) => verify(algorithm.hash, signed, verifyInput(key, algorithm), signature)))
    return;
  if (usable.length > 0) {
    throw new KeyMismatch(
      'token-signature',
      "the token's signature does not match the issuer's key",
    );
  }
  throw new KeyMismatch(
    'token-algorithm',
    `the issuer's key ${quoted(kid)} cannot verify a signature with the algorithm ${quoted(alg)}`,
    {
      hint: 'Compare the token’s alg with the key at the issuer’s jwks_uri. A broken key, or an RSA key of fewer than 2048 bits, must be replaced at the identity provider.',
    },
  );
}

/** @returns Nothing for a key that cannot verify signatures of this algorithm, or is malformed or too small. */
function publicKey(key: SigningKey, algorithm: Algorithm): KeyObject | undefined {
  try {
    const fits =
      key.kty === algorithm.kty &&
      (key.alg === undefined || algorithms.get(key.alg) === algorithm) &&
      (key.use === undefined || key.use === 'sig') &&
      (key.key_ops === undefined || key.key_ops.includes('verify')) &&
      (algorithm.crv === undefined || key.crv === algorithm.crv);
    if (!fits) return undefined;
    const object = createPublicKey({ key: { ...key }, format: 'jwk' });
    // RFC 7518 3.3: smaller RSA keys must not be used.
    const tooSmall = key.kty === 'RSA' && (object.asymmetricKeyDetails?.modulusLength ?? 0) < 2048;
    return tooSmall ? undefined : object;
  } catch {
    return undefined;
  }
}

function verifyInput(key: KeyObject, { kty, pss }: Algorithm): VerifyKeyObjectInput {
  return {
    key,
    // RFC 7518 3.4: r and s side by side, not DER.
    ...(kty === 'EC' && { dsaEncoding: 'ieee-p1363' as const }),
    ...(pss === true && {
      padding: constants.RSA_PKCS1_PSS_PADDING,
      saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
    }),
  };
}

function quoted(value: unknown): string {
  if (value === undefined) return 'none';
  return `'${escapeControl(typeof value === 'string' ? value : JSON.stringify(value)).slice(0, 80)}'`;
}
