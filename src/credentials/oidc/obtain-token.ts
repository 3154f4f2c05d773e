import type { OidcSettings } from '../../config/schema/settings.ts';
import { BerthError } from '../../system/errors/berth-error.ts';
import type { Issuer } from './issuer.ts';
import type { ProviderEdges } from './provider-fetch.ts';
import type { TokenEndpoint } from './token-endpoint.ts';
import type { TokenClaims } from './verify-claims.ts';

/** What is needed to get a verified credential for one user and one cluster. */
export interface ObtainContext extends ProviderEdges {
  readonly settings: OidcSettings;
  readonly username: string;
  readonly issuer: Issuer;
  /** PEM of `settings.caFile`. */
  readonly ca?: string;
  /** Seconds since the epoch. */
  readonly now: () => number;
}

/** A verified credential of this user for the API server. */
export interface ObtainedToken {
  readonly token: string;
  readonly claims: TokenClaims;
  /** From an exchange that requested one: renews this credential, independently of the portal's. */
  readonly ownRefreshToken?: string;
}

export interface PortalTokens {
  readonly accessToken?: string;
  readonly idToken?: string;
}

/**
 * Gets the cluster's credential from the portal's tokens: one of them, or what the issuer exchanges the
 * access token for. The credential is verified, and so is the token that is exchanged: another user's token
 * must not be exchanged for this user.
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
    scope,
    ownRefreshToken,
  };
  const { exchangeToken } = await import('./token-endpoint.ts');
  const answer = await exchangeToken(tokenEndpointOf(context), request, context);
  const token = answer.accessToken;
  const claims = await issuer.verify(token, expectation(context, { kind: 'access', audience }));
  return {
    token,
    claims,
    ...(ownRefreshToken && answer.refreshToken && { ownRefreshToken: answer.refreshToken }),
  };
}

/**
 * Gets the cluster's credential with a refresh token.
 *
 * @param keep Called with the new refresh token before anything else can fail: the old one is used up.
 * @throws {BerthError} what `refreshTokens` and `obtainToken` throw.
 */
export async function obtainTokenByRefresh(
  context: ObtainContext,
  refreshToken: string,
  keep: (refreshToken: string) => void | Promise<void>,
): Promise<ObtainedToken & { readonly refreshToken: string }> {
  const { refreshTokens } = await import('./token-endpoint.ts');
  const tokens = await refreshTokens(tokenEndpointOf(context), refreshToken, context);
  if (tokens.refreshToken !== refreshToken) await keep(tokens.refreshToken);
  return { ...(await obtainToken(context, tokens)), refreshToken: tokens.refreshToken };
}

/**
 * The same for a refresh token that an exchange issued: its access token is the cluster's credential.
 *
 * @throws {BerthError} what `obtainTokenByRefresh` throws.
 */
export function obtainTokenByOwnRefresh(
  context: ObtainContext,
  ...rest: [refreshToken: string, keep: (refreshToken: string) => void | Promise<void>]
): Promise<ObtainedToken & { readonly refreshToken: string }> {
  const settings = { ...context.settings, exchange: false, token: 'access' } as const;
  return obtainTokenByRefresh({ ...context, settings }, ...rest);
}

/** Where the client of these settings requests tokens, and how it proves its identity there. */
export function tokenEndpointOf({
  issuer: { tokenEndpoint, mtlsTokenEndpoint },
  settings: { issuer, clientId, clientAuth },
  ca,
}: {
  readonly issuer: Pick<Issuer, 'tokenEndpoint' | 'mtlsTokenEndpoint'>;
  readonly settings: OidcSettings;
  readonly ca?: string;
}): TokenEndpoint {
  return {
    url: clientAuth?.method === 'tls_client_auth' ? mtlsTokenEndpoint : tokenEndpoint,
    issuer,
    clientId,
    clientAuth,
    ca,
  };
}

interface Purpose {
  readonly audience?: string;
  readonly kind?: 'access';
  /** The token may have been issued to another client, such as the portal's own. */
  readonly anyParty?: boolean;
}

function expectation({ settings, username, now }: ObtainContext, purpose: Purpose) {
  const { audience, kind, anyParty } = purpose;
  return {
    issuer: settings.issuer,
    audience,
    ...(anyParty !== true && { authorizedParty: settings.clientId }),
    kind: kind ?? settings.token,
    usernameClaim: settings.usernameClaim,
    emailVerified: settings.emailVerified,
    username,
    clockSkewSeconds: settings.clockSkewSeconds,
    now: now(),
  };
}

/**
 * Chooses the token that is the cluster's credential.
 *
 * @throws {BerthError} `token-missing`
 */
export function chooseToken(
  tokens: { readonly accessToken?: string; readonly idToken?: string },
  kind: 'id' | 'access',
): string {
  const token = kind === 'id' ? tokens.idToken : tokens.accessToken;
  if (token !== undefined && token !== '') return token;
  throw new BerthError('token-missing', `there is no ${kind === 'id' ? 'ID' : 'access'} token`, {
    hint:
      kind === 'id'
        ? 'In /etc/ood/config/ood_portal.yml add OIDC_ID_TOKEN to pun_pre_hook_exports and OIDCPassIDTokenAs: serialized to oidc_settings; openid must be in oidc_scope.'
        : 'In /etc/ood/config/ood_portal.yml add OIDC_ACCESS_TOKEN to pun_pre_hook_exports, without a space before it.',
  });
}
