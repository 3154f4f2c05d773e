import type { OidcSettings } from '../../config/settings.ts';
import type { HttpsClient } from '../../system/https-request.ts';
import { exchangeToken } from './exchange.ts';
import { refreshTokens } from './refresh.ts';
import type { Issuer } from './issuer.ts';
import { chooseToken } from './token-choice.ts';
import type { TokenClaims } from './token-claims.ts';
import type { TokenEndpoint } from './token-endpoint.ts';

/** Everything about one user and one cluster that making a verified credential takes. */
export interface ObtainContext {
  readonly settings: OidcSettings;
  readonly username: string;
  readonly issuer: Issuer;
  /** PEM of `settings.caFile`. */
  readonly ca?: string;
  readonly https: HttpsClient;
  /** Seconds since the epoch. */
  readonly now: () => number;
  /** For each request, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/** A credential that the API server will take for this user. */
export interface ObtainedToken {
  readonly token: string;
  readonly claims: TokenClaims;
  /** Where the exchange was asked for one: what renews this credential, and nothing of the portal's. */
  readonly ownRefreshToken?: string;
}

export interface PortalTokens {
  readonly accessToken?: string;
  readonly idToken?: string;
}

/**
 * Makes the cluster's credential of a login's tokens: the right one of them, or what the issuer
 * exchanges it for. Whatever is returned is verified, and so is what is handed to the exchange: or
 * else the portal of one user could be made to ask for another's.
 *
 * @throws {BerthError} `token-missing`, what `verifyToken`, `openIssuer` and `exchangeToken` throw.
 */
export async function obtainToken(
  context: ObtainContext,
  tokens: PortalTokens,
): Promise<ObtainedToken> {
  const { settings, issuer } = context;
  const { audience } = settings;
  if (!settings.exchange) {
    const token = chooseToken(tokens, settings.token);
    return { token, claims: await issuer.verify(token, expectation(context, { audience })) };
  }
  const subjectToken = chooseToken(tokens, 'access');
  await issuer.verify(subjectToken, expectation(context, { kind: 'access', anyParty: true }));
  const { exchangeScope: scope, ownRefreshToken = false } = settings;
  const request = {
    subjectToken,
    audience,
    ...(scope !== undefined && { scope }),
    ownRefreshToken,
  };
  const answer = await exchangeToken(endpointOf(context), request, context);
  const token = answer.accessToken;
  const claims = await issuer.verify(token, expectation(context, { kind: 'access', audience }));
  return {
    token,
    claims,
    ...(ownRefreshToken && answer.refreshToken && { ownRefreshToken: answer.refreshToken }),
  };
}

/**
 * New tokens for a refresh token, made into the cluster's credential.
 *
 * @param keep Is given the next refresh token before anything else can fail: the old one is spent.
 * @throws {BerthError} what `refreshTokens` and `obtainToken` throw.
 */
export async function obtainByRefresh(
  context: ObtainContext,
  refreshToken: string,
  keep: (refreshToken: string) => void | Promise<void>,
): Promise<ObtainedToken & { readonly refreshToken: string }> {
  const tokens = await refreshTokens(endpointOf(context), refreshToken, context);
  if (tokens.refreshToken !== refreshToken) await keep(tokens.refreshToken);
  return { ...(await obtainToken(context, tokens)), refreshToken: tokens.refreshToken };
}

/**
 * The same for a refresh token that an exchange gave: what it renews is the cluster's credential already.
 *
 * @throws {BerthError} what `obtainByRefresh` throws.
 */
export function obtainByOwnRefresh(
  context: ObtainContext,
  ...rest: [refreshToken: string, keep: (refreshToken: string) => void | Promise<void>]
): Promise<ObtainedToken & { readonly refreshToken: string }> {
  const settings = { ...context.settings, exchange: false, token: 'access' } as const;
  return obtainByRefresh({ ...context, settings }, ...rest);
}

function endpointOf({ issuer, settings, ca }: ObtainContext): TokenEndpoint {
  return {
    url: issuer.tokenEndpoint,
    clientId: settings.clientId,
    ...(settings.clientSecret !== undefined && { clientSecret: settings.clientSecret }),
    ...(ca !== undefined && { ca }),
  };
}

interface Purpose {
  readonly audience?: string;
  readonly kind?: 'access';
  /** The portal's own client may have asked for a token that another one exchanges. */
  readonly anyParty?: boolean;
}

function expectation({ settings, username, now }: ObtainContext, purpose: Purpose) {
  const { audience, kind, anyParty } = purpose;
  return {
    issuer: settings.issuer,
    ...(audience !== undefined && { audience }),
    ...(anyParty !== true && { authorizedParty: settings.clientId }),
    kind: kind ?? settings.token,
    usernameClaim: settings.usernameClaim,
    username,
    clockSkewSeconds: settings.clockSkewSeconds,
    now: now(),
  };
}
