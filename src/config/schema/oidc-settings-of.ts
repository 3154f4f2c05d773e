import type { ClusterSettings, OidcSettings } from './settings.ts';

/** The identity provider settings of a cluster's credentials, if they need one. */
export function oidcSettingsOf({ credentials }: ClusterSettings): OidcSettings | undefined {
  if (credentials.mode === 'oidc') return credentials;
  return credentials.mode === 'legacy' ? credentials.oidc : undefined;
}
