import { effectiveDirective, type PortalConfig } from './portal-config.ts';

type Server = PortalConfig['servers'][number];

/** A visitor's secret that servers of other users receive with each request. */
export interface ExposedSecrets {
  /** Names of headers. */
  readonly what: readonly string[];
  /** The paths of the portal that lead to those servers. */
  readonly paths: readonly string[];
}

/**
 * The visitor's tokens that mod_auth_openidc passes on to servers of other users. By default it passes all
 * of them in headers, of which OnDemand removes only the access token.
 */
export function exposedTokens({ servers }: PortalConfig): ExposedSecrets | undefined {
  return exposure(servers, (server) => {
    const value = (name: string): string =>
      (effectiveDirective(server.directives, name) ?? '').toLowerCase();
    const way = value('oidcpassclaimsas').split(' ')[0] ?? '';
    if (way === 'environment' || way === 'none') return [];
    const userInfo = value('oidcpassuserinfoas');
    const passed: Record<string, boolean> = {
      OIDC_access_token: value('oidcpassaccesstoken') !== 'off',
      OIDC_refresh_token: value('oidcpassrefreshtoken') === 'on',
      OIDC_id_token: value('oidcpassidtokenas').split(' ').includes('serialized'),
      OIDC_userinfo_jwt: /(?<!_)\bjwt\b/.test(userInfo),
      OIDC_signed_jwt: userInfo.includes('signed_jwt'),
    };
    const unset = server.directives
      .filter(({ name, args }) => name === 'requestheader' && args[0]?.toLowerCase() === 'unset')
      .map(({ args }) => args[1]?.toLowerCase());
    return Object.keys(passed).filter(
      (name) => passed[name] && !unset.includes(name.toLowerCase()),
    );
  });
}

/**
 * The session cookies that reach servers of other users. Whoever has one can act as the visitor at the
 * portal. OnDemand's own pattern removes a cookie only if another one follows it.
 */
export function exposedCookies({ servers }: PortalConfig): ExposedSecrets | undefined {
  return exposure(servers, (server) =>
    sessionCookies(server).filter((name) => !strips(server, name)),
  );
}

/** All cookies of a session. With `client-cookie` it is split over as many as its contents need. */
export function sessionCookies({ directives }: Pick<Server, 'directives'>): string[] {
  const cookie = effectiveDirective(directives, 'oidccookie') ?? 'mod_auth_openidc_session';
  const inBrowser = /^client-cookie/i.test(effectiveDirective(directives, 'oidcsessiontype') ?? '');
  return [cookie, ...(inBrowser ? [`${cookie}_chunks`, `${cookie}_0`, `${cookie}_1`] : [])];
}

function strips({ directives }: Server, cookie: string): boolean {
  const names = effectiveDirective(directives, 'oidcstripcookies')?.split(' ') ?? [];
  const all = directives.some(
    ({ name, args }) =>
      name === 'requestheader' && /^unset cookie$/i.test(args.slice(0, 2).join(' ')),
  );
  return all || names.includes(cookie);
}

function exposure(
  servers: readonly Server[],
  exposedBy: (server: Server) => readonly string[],
): ExposedSecrets | undefined {
  const found = servers.map((server) => ({ path: server.path, what: exposedBy(server) }));
  const what = [...new Set(found.flatMap((one) => one.what))];
  if (what.length === 0) return undefined;
  return { what, paths: found.filter((one) => one.what.length > 0).map(({ path }) => path) };
}
