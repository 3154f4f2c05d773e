import type { OidcSettings } from '../config/schema/settings.ts';
import { type CredentialCache, isFresh, pluginRefresh } from './credential-cache.ts';
import {
  type ObtainContext,
  obtainTokenByOwnRefresh,
  obtainTokenByRefresh,
  type ObtainedToken,
  obtainToken,
} from './oidc/obtain-token.ts';
import {
  type DescendantToken,
  newestDescendant,
  refreshTokenDigest,
} from './refresh-token-lineage.ts';
import type { StoredCredential } from './root-credential-store.ts';
import type { Issuer } from './oidc/issuer.ts';
import { BerthError, type ErrorCode } from '../system/errors/berth-error.ts';
import type { HttpsClient } from '../system/https-request.ts';

/** The tokens of the portal’s session, which OnDemand passes on through pun_pre_hook_exports. */
export interface OnDemandTokens {
  readonly accessToken?: string;
  readonly idToken?: string;
  readonly refreshToken?: string;
}

/** How the identity provider is reached. */
export interface ProviderAccess {
  readonly https: HttpsClient;
  /** Opens the issuer of these settings (`openIssuer`): once for a hook, however many clusters. */
  readonly issuer: (settings: OidcSettings) => Promise<Issuer>;
  /** The PEM text of `caFile`. */
  readonly readCa: (caFile: string) => string;
  /** Seconds since the epoch. */
  readonly now: () => number;
  /** For each request to the issuer, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/** What is known from earlier hooks and renewals. */
export interface EarlierTokens {
  /** Root's copy of the last credential (`readStoredCredential`). */
  readonly stored?: StoredCredential;
  /** The user's copy (`readCredentialCache`), for a public client. */
  readonly cached?: CredentialCache;
  /** Descendants of the portal's refresh tokens that other clusters of this user hold. */
  readonly descendants?: readonly Partial<DescendantToken>[];
  /** Stores the refresh token that replaces the one just used, in case the hook dies right after. */
  readonly keep?: (
    next: DescendantToken & { readonly issuer: string; readonly own?: boolean },
  ) => void | Promise<void>;
  /** False if no refresh token may be used yet: then `refresh-needed` is thrown instead. */
  readonly mayRefresh?: boolean;
}

/** A verified token, and what renews it. */
export interface RenewableToken {
  readonly token: string;
  /** Seconds since the epoch. */
  readonly expiry: number;
  readonly refreshToken?: string;
  readonly origin?: string;
  readonly turn?: number;
  /** See `StoredCredential`. */
  readonly own?: boolean;
}

/**
 * A verified token for the cluster, and the refresh token that renews it.
 *
 * At each start of a PUN the portal passes on the refresh token of its session, even if Berth has
 * used it since and holds its successor. Using a single-use token twice would end the session
 * (RFC 9700 4.14.2). So if a descendant of the portal's refresh token is known, the descendant is used.
 *
 * @param context `obtainContext`
 * @throws {BerthError} what `obtainToken` and `obtainTokenByRefresh` throw
 */
export async function renewableToken(
  context: ObtainContext,
  tokens: OnDemandTokens,
  all: EarlierTokens = {},
): Promise<RenewableToken> {
  const { settings, now } = context;
  const earlier = ofIssuer(settings.issuer, all);
  const { stored } = earlier;
  const newest = newestRefreshToken(tokens.refreshToken, earlier);
  // Only root's copy is trusted without a check; the user could have written the other.
  const known = newest !== undefined && stored?.origin === newest.origin ? stored : undefined;
  if (settings.ownRefreshToken === true) return tokenWithOwnRefresh(context, tokens, earlier);
  // An exchange costs a round trip, which an earlier result that is still valid saves.
  if (settings.exchange && known !== undefined && isFresh(known, now() + longEnoughSeconds)) {
    return { token: known.token, expiry: known.expiry, ...newest };
  }
  try {
    const { token, claims } = await obtainToken(context, tokens);
    return { token, expiry: claims.expiry, ...newest };
  } catch (error) {
    if (!hasCode(error, 'token-expired') || newest === undefined) throw error;
  }
  // The portal's token has expired; one that was obtained with its refresh token since may be valid.
  if (known !== undefined && isFresh(known, now())) {
    return { token: known.token, expiry: known.expiry, ...newest };
  }
  if (earlier.mayRefresh === false)
    throw new BerthError('refresh-needed', 'the portal’s token has expired');
  const next = { origin: newest.origin, turn: (newest.turn ?? 0) + 1 };
  const renewed = await obtainTokenByRefresh(context, newest.refreshToken, (refreshToken) =>
    earlier.keep?.({ ...next, issuer: settings.issuer, refreshToken }),
  );
  const { token, claims, refreshToken } = renewed;
  return { token, expiry: claims.expiry, refreshToken, ...next };
}

/** Without root's copy if another issuer issued it: the cluster's configuration has changed since. */
function ofIssuer(issuer: string, { stored, ...earlier }: EarlierTokens): EarlierTokens {
  const isOurs = stored?.issuer === issuer;
  return { ...earlier, ...(isOurs && { stored }) };
}

/** What obtaining a token for one user and one cluster takes. @throws what `issuer` and `readCa` throw */
export async function obtainContext(
  settings: OidcSettings,
  username: string,
  { https, issuer, readCa, now, timeoutMs, signal }: ProviderAccess,
): Promise<ObtainContext> {
  return {
    settings,
    username,
    issuer: await issuer(settings),
    https,
    now,
    timeoutMs,
    ...(settings.caFile !== undefined && { ca: readCa(settings.caFile) }),
    signal,
  };
}

/**
 * With a refresh token that belongs to this cluster alone, portal and cluster can each renew, and end,
 * without the other. So the portal's refresh token is never used here: if it is single-use, the portal's
 * session would end.
 */
async function tokenWithOwnRefresh(
  context: ObtainContext,
  tokens: OnDemandTokens,
  { stored, keep }: EarlierTokens,
): Promise<RenewableToken> {
  try {
    return withOwnRefreshToken(await obtainToken(context, tokens));
  } catch (error) {
    if (!hasCode(error, 'token-expired')) throw error;
    const { own, refreshToken, origin, token = '', expiry = 0, turn = 0 } = stored ?? {};
    if (own !== true || refreshToken === undefined || origin === undefined) throw error;
    if (isFresh({ expiry }, context.now()))
      return { token, expiry, refreshToken, origin, turn, own };
    const next = { origin, turn: turn + 1, own };
    const renewed = await obtainTokenByOwnRefresh(context, refreshToken, (newest) =>
      keep?.({ ...next, issuer: context.settings.issuer, refreshToken: newest }),
    );
    const { claims, ...credential } = renewed;
    return { ...next, ...credential, expiry: claims.expiry };
  }
}

function withOwnRefreshToken({ token, claims, ownRefreshToken }: ObtainedToken): RenewableToken {
  const { expiry } = claims;
  if (ownRefreshToken === undefined) return { token, expiry };
  const origin = refreshTokenDigest(ownRefreshToken);
  return { token, expiry, refreshToken: ownRefreshToken, origin, own: true };
}

function hasCode(error: unknown, code: ErrorCode): boolean {
  return error instanceof BerthError && error.code === code;
}

const longEnoughSeconds = 120;

/** The portal's refresh token, or its newest known descendant. */
function newestRefreshToken(
  refreshToken: string | undefined,
  { stored, cached, descendants = [] }: EarlierTokens,
): DescendantToken | undefined {
  if (refreshToken === undefined) return undefined;
  const given: DescendantToken = { refreshToken, origin: refreshTokenDigest(refreshToken) };
  const { origin, turn, ...newest } =
    newestDescendant(given.origin, [
      stored ?? {},
      pluginRefresh(cached) ?? {},
      ...descendants,
      given,
    ]) ?? given;
  return { refreshToken: newest.refreshToken, origin, turn };
}
