import type { ClusterOptions } from './berth-yml.ts';
import { parseClientAuth } from './client-auth.ts';
import type { ClusterDefinition } from './ood-cluster-file.ts';
import { configError } from './config-error.ts';
import { parseIssuer } from './issuer-url.ts';
import type { SiteFileContents } from './site-files.ts';
import type { CredentialSettings, OidcSettings } from './settings.ts';

type CredentialOptions = NonNullable<ClusterOptions['credentials']>;

/** Eight hours, a working day, because without the broker only the next login renews the token. */
const defaultLifetimeSeconds = 8 * 3600;
const defaultServiceAccount = 'berth-user';

/**
 * The credentials of this cluster's users. Without a `mode`, OnDemand's `auth: oidc` means the portal's
 * tokens; for `managed` and `gke` Berth writes no credentials.
 *
 * @throws BerthError `credentials-incomplete`, `credentials-contradictory` with `cluster`, and what `clientAuth` throws
 */
export function credentialSettings(
  definition: ClusterDefinition,
  options: CredentialOptions,
  parts: SiteFileContents,
): CredentialSettings {
  const mode = options.mode ?? (definition.auth === 'oidc' ? 'oidc' : 'none');
  switch (mode) {
    case 'none':
      return { mode };
    case 'service-account':
      return {
        mode,
        name: options.service_account ?? defaultServiceAccount,
        lifetimeSeconds: Math.round((options.lifetime ?? defaultLifetimeSeconds * 1000) / 1000),
      };
    case 'oidc':
      return oidcSettings(definition, options, parts);
    case 'legacy':
      return { mode, oidc: legacySettings(definition, options, parts) };
  }
}

function oidcSettings(
  { name, file }: ClusterDefinition,
  options: CredentialOptions,
  parts: SiteFileContents,
): OidcSettings {
  const missing = (what: string, key: string): never => {
    throw configError(
      'credentials-incomplete',
      file,
      `auth is oidc, and the ${what} is not configured`,
      `Set ${key} in ${parts.hookEnvFile}, or credentials in berth.yml.`,
      { cluster: name },
    );
  };
  const { hookEnv } = parts;
  const clientId = options.client_id ?? hookEnv?.clientId ?? missing('client', 'CLIENT_ID');
  // The secret of hook.env belongs to the client of hook.env only.
  const hookEnvSecret = hookEnv?.clientId === clientId ? hookEnv.clientSecret : undefined;
  const authentication = parseClientAuth(options, hookEnvSecret, parts, name);
  const audience = options.audience ?? clientId;
  const exchange = options.exchange ?? audience !== clientId;
  const ownRefreshToken = options.own_refresh_token ?? false;
  if (ownRefreshToken && (!exchange || authentication === undefined))
    throw configError(
      'credentials-contradictory',
      parts.berthFile,
      'credentials.own_refresh_token needs a token exchange and a confidential client',
      'Set credentials.exchange and the client’s secret or key, or remove own_refresh_token.',
      { cluster: name },
    );
  return {
    mode: 'oidc',
    issuer: issuerOption(options) ?? hookEnv?.issuer ?? missing('issuer', 'IDP_ISSUER_URL'),
    ...(options.ca_file === undefined ? {} : { caFile: options.ca_file }),
    clientId,
    ...(authentication === undefined ? {} : { clientAuth: authentication }),
    audience,
    exchange,
    ...(options.exchange_scope === undefined ? {} : { exchangeScope: options.exchange_scope }),
    ...(ownRefreshToken ? { ownRefreshToken } : {}),
    usernameClaim: options.username_claim ?? 'preferred_username',
    clockSkewSeconds: Math.round((options.clock_skew ?? 60_000) / 1000),
    // An access token can be exchanged; the API server accepts an ID token directly.
    token: options.token ?? (exchange ? 'access' : 'id'),
  };
}

/** kubectl's auth-provider supports only client secrets. */
function legacySettings(
  definition: ClusterDefinition,
  options: CredentialOptions,
  parts: SiteFileContents,
): OidcSettings {
  const settings = oidcSettings(definition, options, parts);
  if (settings.clientAuth === undefined || 'secret' in settings.clientAuth) return settings;
  throw configError(
    'credentials-contradictory',
    parts.berthFile,
    `credentials.mode legacy cannot use client_auth_method ${settings.clientAuth.method}`,
    'Use credentials.mode: oidc, or a client with a secret.',
    { cluster: definition.name },
  );
}

function issuerOption({ issuer }: CredentialOptions): string | undefined {
  if (issuer === undefined) return undefined;
  const read = parseIssuer(issuer);
  return 'issuer' in read ? read.issuer : issuer;
}
