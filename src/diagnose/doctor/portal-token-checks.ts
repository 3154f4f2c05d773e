import type { OidcSettings } from '../../config/schema/settings.ts';
import {
  effectiveDirective,
  exposedCookies,
  type ExposedSecrets,
  exposedTokens,
  type PortalConfig,
  sessionCookies,
} from '../../config/schema/portal-config.ts';
import { failed, type Finding, ok, warning } from '../../system/errors/check-result.ts';
import { installedPath } from '../../system/program/installed-path.ts';

const apply =
  'in /etc/ood/config/ood_portal.yml, run `/opt/ood/ood-portal-generator/sbin/update_ood_portal` and restart Apache.';

/** `portal-tokens`: whether Apache passes tokens of users to servers of other users. */
export function tokensFinding(portal: PortalConfig): Finding {
  const exposed = exposedTokens(portal);
  if (exposed !== undefined)
    return failed(
      `${givenAway(exposed)}; the owner of that server can then act as the visitor on the cluster`,
      `Add \`OIDCPassClaimsAs: environment\` to oidc_settings ${apply}`,
    );
  const shown = (effectiveDirective(portal.pun, 'oidcinfohook') ?? '')
    .split(' ')
    .filter((name) => name === 'access_token' || name === 'refresh_token');
  return shown.length > 0
    ? failed(
        `OIDCInfoHook exposes ${shown.join(' and ')} to every script that the portal's origin serves, including pages of users' own servers`,
        `Remove these from OIDCInfoHook in oidc_settings ${apply}`,
      )
    : ok('no token is passed to servers of users');
}

/** `portal-session-cookie`: the same for the session cookie of the browser. */
export function cookieFinding(portal: PortalConfig): Finding {
  const exposed = exposedCookies(portal);
  if (exposed === undefined) return ok('no session cookie is passed to servers of users');
  const cookies = sessionCookies({ directives: portal.servers[0]?.directives ?? [] });
  return failed(
    `${givenAway(exposed)} if it is the last cookie of a request; the owner of that server can then act as the visitor at the portal`,
    `Add \`OIDCStripCookies: ${cookies.join(' ')}\` to oidc_settings ${apply}`,
  );
}

function givenAway({ what, paths }: ExposedSecrets): string {
  return `web servers that users run behind ${paths.join(' or ')} receive ${what.join(', ')} of each visitor`;
}

/** The variables of mod_auth_openidc for the tokens, and the directive that sets each. */
const passedBy = {
  OIDC_access_token: {
    is: ['oidcpassaccesstoken', (value?: string) => value !== 'off'],
    next: `Remove \`OIDCPassAccessToken\` from oidc_settings ${apply}`,
  },
  OIDC_id_token: {
    is: ['oidcpassidtokenas', (value = '') => value.split(' ').includes('serialized')],
    next: `Add \`OIDCPassIDTokenAs: serialized\` to oidc_settings ${apply}`,
  },
  OIDC_refresh_token: {
    is: ['oidcpassrefreshtoken', (value?: string) => value === 'on'],
    next: `Add \`OIDCPassRefreshToken: 'On'\` (with the quotes) to oidc_settings ${apply}`,
  },
} as const satisfies Record<
  string,
  { is: readonly [string, (value?: string) => boolean]; next: string }
>;

type TokenName = keyof typeof passedBy;

/** `portal-exports`: whether the hook receives the tokens that the clusters need. */
export function exportsFinding(portal: PortalConfig, clusters: readonly OidcSettings[]): Finding {
  const listed = (portal.exports ?? '').split(',');
  const untrimmed = listed.filter((name) => name !== name.trim());
  if (untrimmed.length > 0)
    return failed(
      `pun_pre_hook_exports contains spaces, which OnDemand reads as part of a name; not exported: ${untrimmed.map((name) => `'${name}'`).join(', ')}`,
      `Write \`pun_pre_hook_exports: ${listed.map((name) => name.trim()).join(',')}\` ${apply}`,
    );
  const wanted = wantedTokens(clusters);
  // OnDemand accepts any spelling, the hook only these two.
  const missing = wanted.filter(
    (name) => !listed.includes(name) && !listed.includes(name.toUpperCase()),
  );
  if (missing.length > 0)
    return failed(
      `pun_pre_hook_exports lacks ${missing.map((name) => name.toUpperCase()).join(', ')}: without it kubectl gets no credential, or none that is renewed`,
      `Write \`pun_pre_hook_exports: ${[...listed.filter((name) => name !== ''), ...missing.map((name) => name.toUpperCase())].join(',')}\` ${apply}`,
    );
  const way = lower(portal, 'oidcpassclaimsas')?.split(' ')[0] ?? 'both';
  if (way === 'headers' || way === 'none')
    return failed(
      `OIDCPassClaimsAs is ${way}: the environment exported to the hook has no tokens`,
      `Write \`OIDCPassClaimsAs: environment\` in oidc_settings ${apply}`,
    );
  const unset = wanted.find((name) => {
    const [directive, passes] = passedBy[name].is;
    return !passes(lower(portal, directive));
  });
  return unset === undefined
    ? ok(`the hook gets ${wanted.map((name) => name.toUpperCase()).join(', ')}`)
    : failed(
        `mod_auth_openidc does not pass ${unset}, so the hook never gets it`,
        passedBy[unset].next,
      );
}

function wantedTokens(clusters: readonly OidcSettings[]): TokenName[] {
  const kinds = clusters.map(({ exchange, token }) => (exchange ? 'access' : token));
  return [
    ...(kinds.includes('access') ? (['OIDC_access_token'] as const) : []),
    ...(kinds.includes('id') ? (['OIDC_id_token'] as const) : []),
    ...(clusters.length > 0 ? (['OIDC_refresh_token'] as const) : []),
  ];
}

/** Directives with which the portal renews tokens itself, with the refresh token that kubectl uses too. */
const renewing = ['OIDCRefreshAccessTokenBeforeExpiry', 'OIDCUserInfoRefreshInterval'] as const;

/** `portal-refresh`: whether the portal and kubectl use the same refresh token. */
export function refreshFinding(portal: PortalConfig, clusters: readonly OidcSettings[]): Finding {
  const shared = clusters.some(({ ownRefreshToken }) => ownRefreshToken !== true);
  const set = renewing.filter((name) => lower(portal, name.toLowerCase()) !== undefined);
  return shared && set.length > 0
    ? warning(
        `${set.join(' and ')}: the portal and kubectl renew with the same refresh token; a provider that accepts each token only once ends the session of both`,
        `Give kubectl a refresh token of its own (credentials.own_refresh_token; "Refresh tokens that rotate, with Keycloak" in ${installedPath('share/docs/configuration.md')}), disable rotation at the provider, or remove ${set.join(' and ')} from oidc_settings ${apply}`,
      )
    : ok('the portal does not use the refresh token of kubectl');
}

function lower(portal: PortalConfig, name: string): string | undefined {
  return effectiveDirective(portal.pun, name)?.toLowerCase();
}
