import { BerthError } from '../../errors/berth-error.ts';
import { decodeUnverifiedClaims } from './verify-token.ts';

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
  throw new BerthError(`there is no ${kind === 'id' ? 'ID' : 'access'} token`, {
    code: 'token-missing',
    hint:
      kind === 'id'
        ? 'In /etc/ood/config/ood_portal.yml add OIDC_ID_TOKEN to pun_pre_hook_exports and OIDCPassIDTokenAs: serialized to oidc_settings; openid must be in oidc_scope.'
        : 'In /etc/ood/config/ood_portal.yml add OIDC_ACCESS_TOKEN to pun_pre_hook_exports, without a space before it.',
  });
}

/**
 * When a token expires, in seconds since the epoch. The token is not verified: the issuer has just sent it
 * over https.
 *
 * @param expiresIn The response's `expires_in`, in seconds: for a token that is not a JWT.
 */
export function expiryOf(token: string, expiresIn: number | undefined, now: number): number {
  const expiry = decodeUnverifiedClaims(token)?.exp;
  return typeof expiry === 'number' ? expiry : Math.floor(now + (expiresIn ?? 60));
}
