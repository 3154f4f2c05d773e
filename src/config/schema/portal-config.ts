type Directive = Pick<ApacheDirective, 'name' | 'args'>;

/** The part of the configuration of OnDemand's Apache that Berth needs. */
export interface PortalConfig {
  /** True if users log in through mod_auth_openidc. */
  readonly openidc: boolean;
  /** `pun_pre_hook_root_cmd`. */
  readonly hook?: string;
  /** `pun_pre_hook_exports`, unchanged. */
  readonly exports?: string;
  /** Directives for the requests that start a user's nginx; of several with one name the last counts. */
  readonly pun: readonly Directive[];
  /** The same for each location that proxies to users' servers: /node, /rnode. */
  readonly servers: readonly { readonly path: string; readonly directives: readonly Directive[] }[];
}

/**
 * The arguments of the effective directive, joined by spaces; undefined if the module's default applies.
 *
 * @param name in lower case
 */
export function effectiveDirective(
  directives: readonly Directive[],
  name: string,
): string | undefined {
  return directives.findLast((one) => one.name === name)?.args.join(' ');
}

/**
 * The configuration that ood-portal-generator makes of an `ood_portal.yml`.
 *
 * @param document the parsed file; a key whose value has the wrong type is ignored
 */
export function portalFromYaml(document: unknown): PortalConfig {
  const yml = objectIn(document);
  const portal = [
    ...Object.entries(objectIn(yml.oidc_settings)).map(([name, value]) => directive(name, value)),
    ...linesIn(yml.custom_vhost_directives),
  ];
  const location = linesIn(yml.custom_location_directives);
  const stripped = Array.isArray(yml.strip_proxy_headers) ? yml.strip_proxy_headers : [];
  const unset = stripped.map((name) => directive('RequestHeader', `unset ${String(name)}`));
  const uris = [yml.node_uri, yml.rnode_uri, yml.secure_node_uri, yml.secure_rnode_uri];
  return {
    openidc: [yml.oidc_uri, yml.oidc_client_id].every((key) => typeof key === 'string'),
    ...textAs('hook', yml.pun_pre_hook_root_cmd),
    ...textAs('exports', yml.pun_pre_hook_exports),
    pun: [...portal, ...location],
    servers: uris
      .filter((path) => typeof path === 'string')
      .map((path) => ({ path, directives: [...portal, ...location, ...unset] })),
  };
}

/**
 * The same, from Apache's own files.
 *
 * @param texts their contents, in the order in which Apache reads them: the module's, the portal's
 */
export function portalFromApache(texts: readonly string[]): PortalConfig {
  const all = texts.flatMap(parseApacheConfig);
  // Of the server and of all its virtual hosts: OnDemand's second one only redirects.
  const portal = all.filter(({ sections }) => sections.every(({ name }) => name === 'virtualhost'));
  const variables = new Map(
    all.filter(({ name }) => name === 'setenv').map(({ args: [name, value] }) => [name, value]),
  );
  const handledBy = (script: string) => {
    const hooks = all.filter(({ name, args }) => name === 'luahookfixups' && args[0] === script);
    return hooks.flatMap(({ sections }) => sections.at(-1) ?? []);
  };
  const within = (section: object | undefined): Directive[] => [
    ...portal,
    ...all.filter(({ sections }) => section !== undefined && sections.at(-1) === section),
  ];
  return {
    openidc: all.some(({ name }) => name === 'oidcclientid'),
    ...textAs('hook', variables.get('OOD_PUN_PRE_HOOK_ROOT_CMD')),
    ...textAs('exports', variables.get('OOD_PUN_PRE_HOOK_EXPORTS')),
    pun: within(handledBy('pun_proxy.lua')[0]),
    servers: handledBy('node_proxy.lua').map((section) => ({
      path: /^\^?(\/[\w/-]*?)\/?(?:\W|$)/.exec(section.argument)?.[1] ?? section.argument,
      directives: within(section),
    })),
  };
}

function directive(name: string, value: unknown): Directive {
  // In YAML, On and Off are booleans; Ruby then writes `true`, which Apache does not take for On.
  return { name: name.toLowerCase(), args: String(value).split(/\s+/) };
}

function linesIn(value: unknown): Directive[] {
  const lines = Array.isArray(value) ? value.map(String) : [];
  return parseApacheConfig(lines.join('\n'));
}

function objectIn(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function textAs<Key extends string>(key: Key, value: unknown): Partial<Record<Key, string>> {
  return typeof value === 'string' ? ({ [key]: value } as Record<Key, string>) : {};
}

/** One directive of an Apache configuration. */
interface ApacheDirective {
  /** In lower case, because Apache ignores case. */
  readonly name: string;
  readonly args: readonly string[];
  /** The sections around it, outermost first, without conditions such as `<IfModule>`. */
  readonly sections: readonly ApacheSection[];
}

/** The same object for all directives of one section. */
interface ApacheSection {
  /** In lower case: `virtualhost`, `locationmatch`. */
  readonly name: string;
  readonly argument: string;
}

/**
 * The directives of an Apache configuration file, in order. All conditions count as true, and included files
 * are not read. That suffices for the files of OnDemand's generator.
 */
function parseApacheConfig(text: string): ApacheDirective[] {
  const open: ApacheSection[] = [];
  return text
    .replaceAll(/\\\r?\n/g, ' ')
    .split(/\r?\n/)
    .flatMap((line) => {
      const [, slash, section, argument] = /^\s*<(\/?)(\w+)\s*(.*?)>?\s*$/.exec(line) ?? [];
      if (section !== undefined) {
        if (slash === '/') open.pop();
        else
          open.push({ name: section.toLowerCase(), argument: wordsOf(argument ?? '').join(' ') });
        return [];
      }
      const [name, ...args] = wordsOf(line);
      if (name === undefined || name.startsWith('#')) return [];
      const sections = open.filter((one) => !one.name.startsWith('if'));
      return [{ name: name.toLowerCase(), args, sections }];
    });
}

/** Splits arguments as Apache does: single or double quotes, in which a backslash escapes the quote. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|(\S+)/g)].map(
    ([, double, single, plain]) => plain ?? (double ?? single ?? '').replaceAll(/\\(["'])/g, '$1'),
  );
}

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
