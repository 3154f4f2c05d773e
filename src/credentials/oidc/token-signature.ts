import { constants, createPublicKey, type KeyObject, verify } from 'node:crypto';
import { BerthError, type ErrorCode } from '../../errors.ts';
import { escapeControl } from '../../log.ts';

/** A public key of a JWKS, RFC 7517; only the members that matter here. */
export interface SigningKey {
  readonly kty: string;
  readonly kid?: string;
  readonly alg?: string;
  readonly use?: string;
  readonly crv?: string;
  readonly n?: string;
  readonly e?: string;
  readonly x?: string;
  readonly y?: string;
}

export interface SignedText {
  /** `header.payload` as it stood in the token, RFC 7515 5.2. */
  readonly signed: string;
  readonly signature: Buffer;
  /** `alg` and `kid` of the header: anybody's claim until the signature holds. */
  readonly algorithm: unknown;
  readonly keyId: unknown;
}

interface Algorithm {
  readonly kty: string;
  readonly hash: string | null;
  /** The curves, for EC and OKP (RFC 7518 3.4, RFC 8037 3.1). */
  readonly curves?: readonly string[];
  readonly pss?: boolean;
}

/**
 * What may sign a token: public-key signatures only. `none` is no signature, and with HS256 anybody
 * who has the public key could sign (RFC 8725 2.1, 3.1), so neither is here.
 */
const algorithms: ReadonlyMap<unknown, Algorithm> = new Map<string, Algorithm>([
  ['RS256', { kty: 'RSA', hash: 'sha256' }],
  ['RS384', { kty: 'RSA', hash: 'sha384' }],
  ['RS512', { kty: 'RSA', hash: 'sha512' }],
  ['PS256', { kty: 'RSA', hash: 'sha256', pss: true }],
  ['PS384', { kty: 'RSA', hash: 'sha384', pss: true }],
  ['PS512', { kty: 'RSA', hash: 'sha512', pss: true }],
  ['ES256', { kty: 'EC', hash: 'sha256', curves: ['P-256'] }],
  ['ES384', { kty: 'EC', hash: 'sha384', curves: ['P-384'] }],
  ['ES512', { kty: 'EC', hash: 'sha512', curves: ['P-521'] }],
  ['EdDSA', { kty: 'OKP', hash: null, curves: ['Ed25519', 'Ed448'] }],
]);

/**
 * Checks the signature with the key that the header names, where that key is one for the header's
 * algorithm (RFC 8725 3.1: never let the token choose what its key is used for).
 *
 * @throws {BerthError} `token-algorithm`, `token-key-unknown`, `token-signature`.
 */
export function signatureMatches(text: SignedText, keys: readonly SigningKey[]): void {
  const algorithm = algorithms.get(text.algorithm);
  const name = quoted(text.algorithm);
  if (algorithm === undefined) {
    throw refused(
      'token-algorithm',
      `the token's signature algorithm ${name} is not allowed`,
      'Only RS, PS, ES and EdDSA signatures prove an issuer. HS512 is what Keycloak signs refresh tokens with: was one handed over in place of an ID or access token?',
    );
  }
  const named = keys.filter((key) => text.keyId === undefined || key.kid === text.keyId);
  if (named.length === 0) {
    throw refused(
      'token-key-unknown',
      `the token is signed with a key that the issuer does not publish (kid ${quoted(text.keyId)})`,
      'Compare the token’s kid with the issuer’s jwks_uri: the token may be of another realm.',
    );
  }
  const fitting = named.filter((key) => fits(key, algorithm, text.algorithm));
  if (fitting.length === 0) {
    throw refused(
      'token-algorithm',
      `the token's algorithm ${name} does not fit the issuer's key ${quoted(text.keyId)}`,
      'The issuer signs with another algorithm than this token says: the token is forged, or of another issuer.',
    );
  }
  // Without a kid several keys may fit; one valid signature is enough (RFC 7515 appendix D).
  if (!fitting.some((key) => verifies(text, publicKey(key), algorithm))) {
    throw refused(
      'token-signature',
      "the token's signature does not match the issuer's key",
      'The token was changed on its way, or is not of this issuer.',
    );
  }
}

function fits(key: SigningKey, algorithm: Algorithm, name: unknown): boolean {
  return (
    key.kty === algorithm.kty &&
    (key.alg === undefined || key.alg === name) &&
    (key.use === undefined || key.use === 'sig') &&
    (algorithm.curves === undefined || algorithm.curves.includes(key.crv ?? ''))
  );
}

function publicKey(key: SigningKey): KeyObject {
  let object: KeyObject;
  try {
    object = createPublicKey({ key: { ...key }, format: 'jwk' });
  } catch (cause) {
    throw unusableKey(`the issuer's key ${quoted(key.kid)} is not a usable JWK`, cause);
  }
  // RFC 7518 3.3: smaller RSA keys must not be used.
  if (key.kty === 'RSA' && (object.asymmetricKeyDetails?.modulusLength ?? 0) < 2048) {
    throw unusableKey(`the issuer's key ${quoted(key.kid)} has fewer than 2048 bits`);
  }
  return object;
}

function unusableKey(message: string, cause?: unknown): BerthError {
  return new BerthError(message, {
    code: 'token-algorithm',
    exit: 'unavailable',
    hint: 'Replace the signing key at the identity provider.',
    cause,
  });
}

function verifies(text: SignedText, key: KeyObject, algorithm: Algorithm): boolean {
  return verify(
    algorithm.hash,
    Buffer.from(text.signed),
    {
      key,
      // RFC 7518 3.4: r and s side by side, not DER.
      ...(algorithm.kty === 'EC' && { dsaEncoding: 'ieee-p1363' as const }),
      ...(algorithm.pss === true && {
        padding: constants.RSA_PKCS1_PSS_PADDING,
        saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
      }),
    },
    text.signature,
  );
}

function refused(code: ErrorCode, message: string, hint: string): BerthError {
  return new BerthError(message, { code, exit: 'permission', hint });
}

function quoted(value: unknown): string {
  if (value === undefined) return 'without a name';
  return `'${escapeControl(typeof value === 'string' ? value : JSON.stringify(value)).slice(0, 80)}'`;
}
