import {
  requestTokens,
  type TokenEndpoint,
  type TokenEndpointEdges,
  type TokenSet,
} from './token-endpoint.ts';

const tokenType = (name: string): string => `urn:ietf:params:oauth:token-type:${name}`;

export interface ExchangeRequest {
  /** The portal's access token. */
  readonly subjectToken: string;
  readonly audience: string;
  /** Where the audience hangs on an optional client scope. */
  readonly scope?: string;
  /** Asks for a refresh token, too, which is not the portal's. */
  readonly ownRefreshToken?: boolean;
}

/**
 * Trades the portal's access token for one of the cluster's audience: RFC 8693, in the form of
 * Keycloak's standard token exchange (V2), where the client that asks must be confidential and in
 * the audience of the token it hands in. What comes back is to be verified like any other token.
 *
 * @returns The access token for `audience`; with a refresh token where one was asked for.
 * @throws {BerthError} what `requestTokens` throws; `issuer-request-refused` when the exchange is not allowed.
 */
export function exchangeToken(
  endpoint: TokenEndpoint,
  { subjectToken, audience, scope, ownRefreshToken = false }: ExchangeRequest,
  edges: TokenEndpointEdges,
): Promise<TokenSet> {
  return requestTokens(
    endpoint,
    {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: subjectToken,
      subject_token_type: tokenType('access_token'),
      requested_token_type: tokenType(ownRefreshToken ? 'refresh_token' : 'access_token'),
      audience,
      ...(scope !== undefined && { scope }),
    },
    edges,
  );
}
