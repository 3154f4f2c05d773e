import type { LoginTokens } from '../credentials/renewable-token.ts';

/**
 * The tokens of a login as nginx_stage hands them over: `OOD_` and the names as the site spells them in
 * `pun_pre_hook_exports`, where OnDemand's Lua takes `OIDC_ACCESS_TOKEN` and mod_auth_openidc's own
 * `OIDC_access_token` for the same. An empty variable is an absent one.
 */
export function portalTokens(env: Readonly<Record<string, string | undefined>>): LoginTokens {
  const token = (name: string): string | undefined =>
    [env[`OOD_OIDC_${name.toUpperCase()}`], env[`OOD_OIDC_${name}`]].find((value) => value);
  const [accessToken, idToken, refreshToken] = ['access_token', 'id_token', 'refresh_token'].map(
    token,
  );
  return {
    ...(accessToken && { accessToken }),
    ...(idToken && { idToken }),
    ...(refreshToken && { refreshToken }),
  };
}
