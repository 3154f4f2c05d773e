import { requestTokens, type TokenEndpoint, type TokenEndpointEdges } from './token-endpoint.ts';

const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token';

export interface ExchangeRequest {
  /** The portal's access token. */
  readonly subjectToken: string;
  readonly audience: string;
  /** Where the audience hangs on an optional client scope. */
  readonly scope?: string;
}

/**
 * Trades the portal's access token for one of the cluster's audience: RFC 8693, in the form of
 * Keycloak's standard token exchange (V2), where the client that asks must be confidential and in
 * the audience of the token it hands in. What comes back is to be verified like any other token.
 *
 * @returns The access token for `audience`.
 * @throws {BerthError} what `requestTokens` throws; `issuer-refused` when the exchange is not allowed.
 */
export async function exchangeToken(
  endpoint: TokenEndpoint,
  request: ExchangeRequest,
  edges: TokenEndpointEdges,
): Promise<string> {
  const tokens = await requestTokens(
    endpoint,
    {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: request.subjectToken,
      subject_token_type: accessTokenType,
      requested_token_type: accessTokenType,
      audience: request.audience,
      ...(request.scope !== undefined && { scope: request.scope }),
    },
    edges,
  );
  return tokens.accessToken;
}
