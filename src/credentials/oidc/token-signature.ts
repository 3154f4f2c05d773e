import { compactVerify } from 'jose/jws/compact/verify';
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

/**
 * Public-key signatures only: `none` is no signature, and with HS256 anybody could sign with the public key
 * as the secret (RFC 8725 2.1, 3.1).
 */
const algorithms = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];

/**
 * Checks the signature of a compact JWS with the key that its header names, where the issuer published that
 * key for the header's algorithm (RFC 8725 3.1). Keys that cannot be used are skipped.
 *
 * @param header The token's protected header, not yet trusted.
 * @throws {BerthError} `token-algorithm`, `token-key-unknown`, `token-signature`.
 */
export async function checkSignature(
  jwt: string,
  header: Readonly<Record<string, unknown>>,
  keys: readonly SigningKey[],
): Promise<void> {
  const { alg, kid } = header;
  if (typeof alg !== 'string' || !algorithms.includes(alg)) {
    throw refused(
      'token-algorithm',
      `the token's signature algorithm ${quoted(alg)} is not allowed`,
      'Configure the identity provider to sign with RS256 or another RS, PS, ES or Ed25519 algorithm. Keycloak signs refresh tokens with HS512: check that pun_pre_hook_exports does not pass one as an ID or access token.',
    );
  }
  const named = keys.filter((key) => kid === undefined || key.kid === kid);
  if (named.length === 0) {
    throw refused(
      'token-key-unknown',
      `the token is signed with a key that the issuer does not publish (kid ${quoted(kid)})`,
      'Compare the token’s kid with the keys at the issuer’s jwks_uri. The token may be from another realm.',
    );
  }
  let usable = false;
  // Without a kid several keys may fit; one valid signature is enough (RFC 7515 appendix D).
  for (const key of named) {
    try {
      await compactVerify(jwt, renamed(key, alg), { algorithms: [alg] });
      return;
    } catch (error) {
      usable ||= (error as { code?: string }).code === 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED';
    }
  }
  if (usable) {
    throw refused(
      'token-signature',
      "the token's signature does not match the issuer's key",
      'The token was changed, or another issuer signed it.',
    );
  }
  throw refused(
    'token-algorithm',
    `the issuer's key ${quoted(kid)} cannot verify a signature with the algorithm ${quoted(alg)}`,
    'Compare the token’s alg with the key at the issuer’s jwks_uri. A broken key, or an RSA key of fewer than 2048 bits, must be replaced at the identity provider.',
  );
}

/** RFC 9864: `Ed25519` and, with a key of that curve, `EdDSA` are one algorithm. */
function renamed(key: SigningKey, alg: string): SigningKey {
  const same = ['EdDSA', 'Ed25519'];
  return key.crv === 'Ed25519' && same.includes(alg) && same.includes(key.alg ?? '')
    ? { ...key, alg }
    : key;
}

function refused(code: ErrorCode, message: string, hint: string): BerthError {
  return new BerthError(message, { code, exit: 'permission', hint });
}

function quoted(value: unknown): string {
  if (value === undefined) return 'none';
  return `'${escapeControl(typeof value === 'string' ? value : JSON.stringify(value)).slice(0, 80)}'`;
}
