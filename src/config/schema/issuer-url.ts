/** Keycloak's token endpoint below its issuer. OSC's example has the endpoint instead of the issuer. */
const tokenEndpoint = '/protocol/openid-connect/token';

/**
 * The issuer in `IDP_ISSUER_URL` or `issuer`. It is not normalized, because it is compared with the token's
 * `iss` (OpenID Connect Core, 2). Only a token endpoint is cut back to its issuer.
 *
 * @returns `problem`, as a noun phrase, if it is no issuer: https without query, fragment and password
 *   (OpenID Connect Discovery, 3)
 */
export function parseIssuer(
  text: string,
): { readonly issuer: string; readonly wasTokenEndpoint: boolean } | { readonly problem: string } {
  const url = URL.parse(text);
  if (url === null) return { problem: 'not a URL' };
  if (url.protocol !== 'https:') return { problem: 'not an https URL' };
  if (url.username !== '' || url.password !== '')
    return { problem: 'a URL with a user name or password' };
  if (/[?#\s]/.test(text)) return { problem: 'a URL with a query, a fragment or a space' };
  // Not /\/+$/: it takes the square of a run of slashes, and a tenant can write this.
  let end = text.length;
  while (text[end - 1] === '/') end -= 1;
  const bare = text.slice(0, end);
  if (!bare.endsWith(tokenEndpoint)) return { issuer: text, wasTokenEndpoint: false };
  return { issuer: bare.slice(0, -tokenEndpoint.length), wasTokenEndpoint: true };
}

/** The issuer in a checked `credentials.issuer`. */
export function issuerOption(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const read = parseIssuer(text);
  return 'issuer' in read ? read.issuer : text;
}
