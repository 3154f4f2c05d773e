import { BerthError } from '../errors.ts';
import type { ClusterOptions } from './berth-yml.ts';
import type { ClusterDefinition } from './clusters-d.ts';
import { configError } from './config-error.ts';
import { issuerFrom } from './issuer-url.ts';
import type { SiteParts } from './site-parts.ts';
import type { CredentialSettings, OidcSettings } from './settings.ts';

type CredentialOptions = NonNullable<ClusterOptions['credentials']>;

/** A working day: without the broker only the hook renews the token. */
const defaultLifetimeSeconds = 8 * 3600;
const defaultServiceAccount = 'berth-user';

/**
 * The credentials of this cluster's users. Without a `mode`, OnDemand's `auth: oidc` means the portal's
 * tokens; for `managed` and `gke` Berth writes no credentials.
 *
 * @throws BerthError `credentials-incomplete`, `credentials-contradictory`, both with `cluster`; the error of
 *   reading the client secret
 */
export function credentialSettings(
  definition: ClusterDefinition,
  options: CredentialOptions,
  parts: SiteParts,
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
      return { mode, oidc: oidcSettings(definition, options, parts) };
  }
}

function oidcSettings(
  { name, file }: ClusterDefinition,
  options: CredentialOptions,
  parts: SiteParts,
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
  const clientSecret = secret(options, clientId, parts);
  const audience = options.audience ?? clientId;
  const exchange = options.exchange ?? audience !== clientId;
  const ownRefreshToken = options.own_refresh_token ?? false;
  if (ownRefreshToken && (!exchange || clientSecret === undefined))
    throw configError(
      'credentials-contradictory',
      parts.berthFile,
      'credentials.own_refresh_token needs credentials.exchange and a client with a secret',
      'Set credentials.exchange and the client’s secret, or remove own_refresh_token.',
      { cluster: name },
    );
  return {
    mode: 'oidc',
    issuer: issuerOption(options) ?? hookEnv?.issuer ?? missing('issuer', 'IDP_ISSUER_URL'),
    ...(options.ca_file === undefined ? {} : { caFile: options.ca_file }),
    clientId,
    ...(clientSecret === undefined ? {} : { clientSecret }),
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

function issuerOption({ issuer }: CredentialOptions): string | undefined {
  if (issuer === undefined) return undefined;
  const read = issuerFrom(issuer);
  return 'issuer' in read ? read.issuer : issuer;
}

/** The secret of hook.env is used only with the client of hook.env. */
function secret(
  options: CredentialOptions,
  clientId: string,
  { hookEnv, clientSecrets }: SiteParts,
): string | undefined {
  if (options.client_secret_file !== undefined) {
    const read = clientSecrets.get(options.client_secret_file);
    if (read instanceof BerthError) throw read;
    return read;
  }
  return hookEnv?.clientId === clientId ? hookEnv.clientSecret : undefined;
}
