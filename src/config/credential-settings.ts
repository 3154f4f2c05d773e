import { BerthError } from '../errors.ts';
import type { ClusterOptions } from './berth-yml.ts';
import type { ClusterDefinition } from './clusters-d.ts';
import { configError } from './config-error.ts';
import { issuerFrom } from './issuer-url.ts';
import type { SiteParts } from './site-parts.ts';
import type { CredentialSettings, OidcSettings } from './settings.ts';

type CredentialOptions = NonNullable<ClusterOptions['credentials']>;

/** Long enough for a working day: where the broker does not run, only a login renews it. */
const defaultLifetimeSeconds = 8 * 3600;
const defaultServiceAccount = 'berth-user';

/**
 * How users of this cluster prove who they are. Without a `mode`, `auth: oidc` of OnDemand means the
 * portal's tokens, and for `managed` and `gke` somebody else writes the kubeconfig.
 *
 * @throws BerthError `credentials-incomplete`, `credentials-contradictory` with `cluster`; what reading the client secret gave
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
      'credentials.own_refresh_token is what a token exchange gives, to a client with a secret',
      'Set credentials.exchange and the secret of the client, or remove own_refresh_token.',
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
    // What can be exchanged is an access token; what the API server takes as it is, an ID token.
    token: options.token ?? (exchange ? 'access' : 'id'),
  };
}

function issuerOption({ issuer }: CredentialOptions): string | undefined {
  if (issuer === undefined) return undefined;
  const read = issuerFrom(issuer);
  return 'issuer' in read ? read.issuer : issuer;
}

/** The secret of hook.env belongs to the client of hook.env, and goes with no other. */
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
