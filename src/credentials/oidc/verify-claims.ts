import type { EmailVerified } from '../../config/schema/settings.ts';
import { countText } from '../../system/text/count-text.ts';
import { BerthError, type ErrorCode } from '../../system/errors/berth-error.ts';
import { escapeControl } from '../../log.ts';
import { logInAgain } from './portal-hints.ts';

/** What a token must be before it is written for kubectl. */
export interface ClaimsExpectation {
  readonly issuer: string;
  /** What `aud` must contain. Absent for a token that is exchanged: then the issuer decides. */
  readonly audience?: string;
  /** The client that the token was issued to, for `azp` (or `client_id`, RFC 9068). */
  readonly authorizedParty?: string;
  /** ID tokens and access tokens look alike, but one must not be used in place of the other. */
  readonly kind: 'id' | 'access';
  readonly usernameClaim: string;
  readonly emailVerified?: EmailVerified;
  /** The account that logged in; the claim must be equal to it. */
  readonly username: string;
  /** Tolerated difference between the issuer's clock and this host's, in seconds. */
  readonly clockSkewSeconds: number;
  /** Now, in seconds since the epoch. */
  readonly now: number;
}

/** The claims of a token that passed every check. Times are seconds since the epoch. */
export interface TokenClaims {
  readonly issuer: string;
  readonly audience: readonly string[];
  readonly expiry: number;
  readonly issuedAt?: number;
  readonly username: string;
  /** The provider's login session, where it names one (`sid`). */
  readonly session?: string;
}

type Claims = Readonly<Record<string, unknown>>;

/** @throws {BerthError} `token-issuer` */
export function checkIssuerClaim(claims: Claims, expected: { readonly issuer: string }): void {
  if (claims.iss === expected.issuer) return;
  throw refused(
    'token-issuer',
    claims.iss === undefined
      ? `the token has no issuer (iss); expected '${expected.issuer}'`
      : `the token was issued by ${shown(claims.iss)}, not by '${expected.issuer}'`,
    'Compare IDP_ISSUER_URL of hook.env (or credentials.issuer of berth.yml) with the issuer in the provider’s .well-known/openid-configuration: they must be exactly the same.',
  );
}

/**
 * Checks the claims of a token with a valid signature: kind of token, issuer, audience, times, user.
 *
 * @param typ The header's `typ`.
 */
export function verifyClaims(
  typ: unknown,
  claims: Claims,
  expected: ClaimsExpectation,
): TokenClaims {
  checkKind(typ, claims.typ, expected.kind);
  checkIssuerClaim(claims, expected);
  const audience = [claims.aud].flat().filter((entry) => typeof entry === 'string');
  checkAudience(audience, claims, expected);
  const expiry = checkTimes(claims, expected);
  const username = checkUser(claims, expected);
  const { iat, sid } = claims;
  return {
    issuer: expected.issuer,
    audience,
    expiry,
    ...(typeof iat === 'number' && { issuedAt: iat }),
    username,
    ...(typeof sid === 'string' && { session: sid }),
  };
}

/**
 * Keycloak names the kind of a token in the payload's `typ` (`ID`, `Bearer`, `Refresh`, `Logout`), other
 * providers in the header's (`at+jwt` for an access token: RFC 9068 section 4; `logout+jwt`, …).
 */
function checkKind(headerTyp: unknown, payloadTyp: unknown, kind: 'id' | 'access'): void {
  const media = headerTyp === undefined ? 'jwt' : lower(headerTyp).replace(/^application\//, '');
  const payload = lower(payloadTyp ?? '');
  const right =
    kind === 'id'
      ? media === 'jwt' && ['', 'id'].includes(payload)
      : ['jwt', 'at+jwt'].includes(media) && ['', 'bearer', 'dpop'].includes(payload);
  if (right) return;
  throw refused(
    'token-type',
    `the token is not an ${kind === 'id' ? 'ID' : 'access'} token: its type is ${shown(payloadTyp ?? headerTyp)}`,
    'credentials.token chooses the portal’s token: id or access. Check also the variables that pun_pre_hook_exports in ood_portal.yml names.',
  );
}

/** OpenID Connect Core 3.1.3.7, points 3 to 5. */
function checkAudience(audience: readonly string[], claims: Claims, expected: ClaimsExpectation) {
  if (expected.audience !== undefined && !audience.includes(expected.audience)) {
    throw refused(
      'token-audience',
      `the token is for ${audience.length === 0 ? 'no audience' : `the audience ${audience.map(shown).join(', ')}`}, not for '${expected.audience}'`,
      'Add an audience mapper to the client at the identity provider, or set credentials.exchange for this cluster. If only the other of the portal’s two tokens has the audience, choose it: credentials.token: access, or id.',
    );
  }
  if (expected.authorizedParty === undefined) return;
  // RFC 9068 2.2 calls it client_id in access tokens.
  const party = claims.azp ?? (expected.kind === 'access' ? claims.client_id : undefined);
  if (party === expected.authorizedParty || (party === undefined && audience.length <= 1)) return;
  throw refused(
    'token-authorized-party',
    party === undefined
      ? 'the token has several audiences and does not say which client it was issued to (azp)'
      : `the token was issued to the client ${shown(party)}, not to '${expected.authorizedParty}'`,
    'Compare CLIENT_ID (or credentials.client_id) with OIDCClientID of OnDemand’s Apache.',
  );
}

/** RFC 7519 4.1.4 to 4.1.6. */
function checkTimes(claims: Claims, expected: ClaimsExpectation): number {
  const { exp, nbf, iat } = claims;
  for (const [name, value] of Object.entries({ exp, nbf, iat })) {
    const missing = value === undefined && name !== 'exp';
    if (missing || (typeof value === 'number' && Number.isFinite(value))) continue;
    throw refused(
      'token-malformed',
      `the token's ${name} is ${value === undefined ? 'missing' : 'not a number'}`,
      'Configure the identity provider to issue tokens with an expiry (exp).',
    );
  }
  const { now, clockSkewSeconds } = expected;
  const end = exp as number;
  if (end <= now - clockSkewSeconds) {
    throw refused(
      'token-expired',
      `the token expired ${countText(Math.round(now - end), 'second')} ago`,
      `The user’s session at the identity provider has ended. ${logInAgain}. If that does not help, compare this host’s clock with the identity provider’s.`,
    );
  }
  const start = Math.max(Number(nbf ?? 0), Number(iat ?? 0));
  if (start > now + clockSkewSeconds) {
    throw refused(
      'token-not-yet-valid',
      `the token becomes valid in ${countText(Math.round(start - now), 'second')}`,
      'Compare this host’s clock with the identity provider’s: `chronyc tracking`.',
    );
  }
  return end;
}

function checkUser(claims: Claims, expected: ClaimsExpectation): string {
  const username = claims[expected.usernameClaim];
  if (username !== expected.username) {
    throw refused(
      'token-of-another-user',
      username === undefined
        ? `the token has no claim '${expected.usernameClaim}'`
        : `the token belongs to ${shown(username)}, not to '${escapeControl(expected.username)}'`,
      'Set credentials.username_claim to the claim from which OnDemand and the API server take the user’s name.',
    );
  }
  const { email_verified: verified } = claims;
  const mayBeAbsent = expected.emailVerified === 'if-present' && verified === undefined;
  if (expected.usernameClaim === 'email' && verified !== true && !mayBeAbsent) {
    throw refused(
      'token-of-another-user',
      'the token does not say that its email address is verified (email_verified)',
      'The user must verify the address at the identity provider. For a provider that does not issue that claim and lets nobody choose an address, set credentials.email_verified: if-present.',
    );
  }
  return username;
}

function lower(value: unknown): string {
  return typeof value === 'string' ? value.toLowerCase() : 'unknown';
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return `'${escapeControl(text).slice(0, 120)}'`;
}

function refused(code: ErrorCode, message: string, hint: string): BerthError {
  return new BerthError(code, message, { hint });
}
