import type { ClusterOptions } from './berth-yml.ts';
import { parseClientAuth } from './client-auth.ts';
import { configError } from './config-error.ts';
import { issuerOption } from './issuer-url.ts';
import type { ClusterDefinition } from './ood-cluster-file.ts';
import type { CredentialSettings, OidcSettings, SettingsWarning } from './settings.ts';
import type { SiteFileContents } from './site-file-contents.ts';

type CredentialOptions = NonNullable<ClusterOptions['credentials']>;

/** The `credentials` of berth.yml: of its `defaults`, and of this cluster's entry. */
export interface CredentialLevels {
  readonly site: CredentialOptions;
  readonly own: CredentialOptions;
}

type Warn = (warning: SettingsWarning) => void;

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
  levels: CredentialLevels,
  parts: SiteFileContents,
  warn: Warn,
): CredentialSettings {
  const options = { ...levels.site, ...levels.own };
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
      return oidcSettings(definition, levels, parts, warn);
    case 'legacy':
      return { mode, oidc: legacySettings(definition, levels, parts, warn) };
  }
}

function oidcSettings(
  { name, file }: ClusterDefinition,
  levels: CredentialLevels,
  parts: SiteFileContents,
  warn: Warn,
): OidcSettings {
  const merged = { ...levels.site, ...levels.own };
  const missing = (what: string, key: string, option: string): never => {
    throw configError(
      'credentials-incomplete',
      file,
      `credentials need an OIDC ${what}, and none is configured`,
      `Set ${key} in ${parts.hookEnvFile}, or ${option} below credentials in berth.yml.`,
      { cluster: name },
    );
  };
  const { hookEnv } = parts;
  const clientId =
    merged.client_id ?? hookEnv?.clientId ?? missing('client', 'CLIENT_ID', 'client_id');
  const issuer =
    issuerOption(merged.issuer) ?? hookEnv?.issuer ?? missing('issuer', 'IDP_ISSUER_URL', 'issuer');
  const { options, hookEnvSecret, unused } = clientSecretsFor({ clientId, issuer }, levels, parts);
  if (unused !== undefined) warn(otherIssuer(name, issuer, unused, parts.berthFile));
  const authentication = parseClientAuth(options, hookEnvSecret, parts, name);
  const audience = options.audience ?? clientId;
  const exchange = options.exchange ?? audience !== clientId;
  const ownRefreshToken = options.own_refresh_token ?? false;
  if (ownRefreshToken && (!exchange || authentication === undefined))
    throw configError(
      'credentials-contradictory',
      parts.berthFile,
      'credentials.own_refresh_token needs a token exchange and a confidential client',
      "Set credentials.exchange and the client's secret or key, or remove own_refresh_token.",
      { cluster: name },
    );
  return {
    mode: 'oidc',
    issuer,
    caFile: options.ca_file,
    clientId,
    ...(authentication && { clientAuth: authentication }),
    audience,
    exchange,
    exchangeScope: options.exchange_scope,
    ...(ownRefreshToken && { ownRefreshToken }),
    usernameClaim: options.username_claim ?? 'preferred_username',
    emailVerified: options.email_verified,
    clockSkewSeconds: Math.round((options.clock_skew ?? 60_000) / 1000),
    // An access token can be exchanged; the API server accepts an ID token directly.
    token: options.token ?? (exchange ? 'access' : 'id'),
  };
}

/** kubectl's auth-provider supports only client secrets. */
function legacySettings(
  definition: ClusterDefinition,
  levels: CredentialLevels,
  parts: SiteFileContents,
  warn: Warn,
): OidcSettings {
  const settings = oidcSettings(definition, levels, parts, warn);
  if (settings.clientAuth === undefined || 'secret' in settings.clientAuth) return settings;
  throw configError(
    'credentials-contradictory',
    parts.berthFile,
    `credentials.mode legacy cannot use client_auth_method ${settings.clientAuth.method}`,
    'Use credentials.mode: oidc, or a client with a secret.',
    { cluster: definition.name },
  );
}

function otherIssuer(
  cluster: string,
  issuer: string,
  { what, givenFor }: { readonly what: string; readonly givenFor: string | undefined },
  file: string,
): SettingsWarning {
  const origin = givenFor === undefined ? 'no issuer is set beside it' : `it is for ${givenFor}`;
  const message = `${cluster}: ${what} is not sent to the issuer ${issuer}: ${origin}. If the client has a secret there, set clusters.${cluster}.credentials.client_secret_file`;
  return { code: 'client-secret-of-other-issuer', message, file };
}

const materials = ['client_secret_file', 'client_key_file', 'client_certificate_file'] as const;

/** What a cluster may use to prove at its issuer who the client is. */
interface ClientSecrets {
  /** `credentials` of both levels, merged, without what belongs to another issuer. */
  readonly options: CredentialOptions;
  /** `CLIENT_SECRET` of hook.env, where it belongs to this client at this issuer. */
  readonly hookEnvSecret?: string;
  /** A secret that would be used if the issuer were `givenFor`; with undefined, no issuer is set for it. */
  readonly unused?: { readonly what: string; readonly givenFor: string | undefined };
}

/**
 * Chooses the secrets of one cluster's client. A secret belongs to the issuer that is set at the same level:
 * `IDP_ISSUER_URL` for hook.env's, that of `defaults` (or of hook.env) for those of `defaults`. A cluster
 * with another issuer has its own, or a public client: the issuer of a cluster may come from the cluster
 * itself (`berth clusters discover`), and whoever runs that one must not receive the site's secret.
 */
function clientSecretsFor(
  { clientId, issuer }: { readonly clientId: string; readonly issuer: string },
  { site, own }: { readonly site: CredentialOptions; readonly own: CredentialOptions },
  { hookEnv }: Pick<SiteFileContents, 'hookEnv'>,
): ClientSecrets {
  const defaultsIssuer = issuerOption(site.issuer);
  const siteIssuer = defaultsIssuer ?? hookEnv?.issuer;
  const hookEnvIssuer = hookEnv?.issuer ?? defaultsIssuer;
  const hasOwn = materials.some((key) => own[key] !== undefined);
  const isSites = issuer === siteIssuer;
  const options = isSites ? { ...site, ...own } : { ...withoutSecrets(site, hasOwn), ...own };
  const hookEnvSecret = hookEnv?.clientId === clientId ? hookEnv.clientSecret : undefined;
  if (hookEnvSecret !== undefined && issuer === hookEnvIssuer) return { options, hookEnvSecret };

  if (hasOwn) return { options };
  const what = materials.find((key) => site[key] !== undefined);
  if (what !== undefined)
    return isSites
      ? { options }
      : { options, unused: { what: `defaults.credentials.${what}`, givenFor: siteIssuer } };
  if (hookEnvSecret === undefined) return { options };
  return { options, unused: { what: 'CLIENT_SECRET of hook.env', givenFor: hookEnvIssuer } };
}

/** A method without its secret would only be an error: without both, the client is public. */
function withoutSecrets(options: CredentialOptions, keepMethod: boolean): CredentialOptions {
  const dropped = [...materials, 'client_key_id', ...(keepMethod ? [] : ['client_auth_method'])];
  return Object.fromEntries(Object.entries(options).filter(([key]) => !dropped.includes(key)));
}
