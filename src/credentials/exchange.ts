import { requestTokens, type TokenEndpoint, type TokenEndpointEdges } from './token-endpoint.ts';

const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token';

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
  request: { readonly subjectToken: string; readonly audience: string },
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
    },
    edges,
  );
  return tokens.accessToken;
}
