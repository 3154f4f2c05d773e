/** The path of Keycloak's token endpoint below its issuer, which OSC's example has for the issuer. */
const tokenEndpoint = '/protocol/openid-connect/token';

/**
 * The issuer that `IDP_ISSUER_URL` or `issuer` means. Kept to the letter, as it is compared with the
 * token's `iss` (OpenID Connect Core, 2); only a token endpoint is cut back to its issuer.
 *
 * @returns `problem`, in words, where it is no issuer: https, no query, no fragment, no password
 *   (OpenID Connect Discovery, 3).
 */
export function issuerFrom(
  text: string,
): { readonly issuer: string; readonly wasTokenEndpoint: boolean } | { readonly problem: string } {
  const url = URL.parse(text);
  if (url === null) return { problem: 'no URL' };
  if (url.protocol !== 'https:') return { problem: 'no https URL' };
  if (url.username !== '' || url.password !== '') return { problem: 'a URL with a user in it' };
  if (/[?#\s]/.test(text)) return { problem: 'a URL with a query, a fragment or a blank' };
  const bare = text.replace(/\/+$/, '');
  if (!bare.endsWith(tokenEndpoint)) return { issuer: text, wasTokenEndpoint: false };
  return { issuer: bare.slice(0, -tokenEndpoint.length), wasTokenEndpoint: true };
}
