import { BerthError } from '../../errors/berth-error.ts';
import {
  checkIssuerClaim,
  type ClaimsExpectation,
  verifyClaims,
  type TokenClaims,
} from './verify-claims.ts';
import { checkSignature, KeyMismatch, type SigningKey } from './token-signature.ts';

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
    throw new BerthError(`the token has ${jwt.length} bytes, ${maximumLength} is the limit`, {
      code: 'token-too-large',
    });
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

/** RFC 7515 7.1: three parts, base64url without padding. An empty signature is `alg: none`. */
function isJws(parts: readonly string[]): boolean {
  return (
    parts.length === 3 &&
    parts.every((part, index) => /^[\w-]+$/.test(part) || (index === 2 && part === ''))
  );
}

function parseObject(part: string, name: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
  } catch {
    throw malformed(`its ${name} is not JSON`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw malformed(`its ${name} is not a JSON object`);
  }
  return value as Readonly<Record<string, unknown>>;
}

function malformed(why: string): BerthError {
  return new BerthError(`the token is not a signed JWT: ${why}`, { code: 'token-malformed' });
}
