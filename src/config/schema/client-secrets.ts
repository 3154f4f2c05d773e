import type { ClusterOptions } from './berth-yml.ts';
import { issuerOption } from './issuer-url.ts';
import type { SiteFileContents } from './site-files.ts';

type CredentialOptions = NonNullable<ClusterOptions['credentials']>;

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
export function clientSecretsFor(
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
  const dropped = [
    ...[...materials, 'client_key_id'],
    ...(keepMethod ? [] : ['client_auth_method']),
  ];
  return Object.fromEntries(Object.entries(options).filter(([key]) => !dropped.includes(key)));
}
