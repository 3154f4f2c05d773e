import {
  requestTokens,
  type TokenEndpoint,
  type TokenEndpointEdges,
  type TokenSet,
} from './token-endpoint.ts';

/**
 * Trades a refresh token for new tokens, RFC 6749 section 6. No scope is asked for: it stays what it
 * was.
 *
 * @returns The new tokens, with the refresh token for the next time: a new one where the provider
 *   rotates them, else the same.
 * @throws {BerthError} what `requestTokens` throws.
 */
export async function refreshTokens(
  endpoint: TokenEndpoint,
  refreshToken: string,
  edges: TokenEndpointEdges,
): Promise<TokenSet & { readonly refreshToken: string }> {
  const form = { grant_type: 'refresh_token', refresh_token: refreshToken };
  const tokens = await requestTokens(endpoint, form, edges);
  return { ...tokens, refreshToken: tokens.refreshToken ?? refreshToken };
}
