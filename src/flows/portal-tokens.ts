import type { LoginTokens } from './verified-login.ts';

/**
 * The tokens of a login as nginx_stage hands them over: `OOD_` and the names that the site lists in
 * `pun_pre_hook_exports`. An empty variable is an absent one.
 */
export function portalTokens(env: Readonly<Record<string, string | undefined>>): LoginTokens {
  const { OOD_OIDC_ACCESS_TOKEN, OOD_OIDC_ID_TOKEN, OOD_OIDC_REFRESH_TOKEN } = env;
  return {
    ...(OOD_OIDC_ACCESS_TOKEN && { accessToken: OOD_OIDC_ACCESS_TOKEN }),
    ...(OOD_OIDC_ID_TOKEN && { idToken: OOD_OIDC_ID_TOKEN }),
    ...(OOD_OIDC_REFRESH_TOKEN && { refreshToken: OOD_OIDC_REFRESH_TOKEN }),
  };
}
