import {
  configProblemsError,
  type Locate,
  noPosition,
  type ProblemMessage,
} from './config-error.ts';
import { deepFreeze } from './deep-freeze.ts';
import { type ConfigMapKind, type LdapOptions, ldapSchema } from './ldap-schema.ts';
import { schemaMessages } from './schema-messages.ts';

/** The directory's servers, and how its entries are read. */
export interface LdapSettings {
  /** Tried in this order; the first reachable server gets all requests. */
  readonly servers: readonly LdapServer[];
  /** PEM bundle for the servers' certificates. Default: the system's. */
  readonly caFile?: string;
  /** If absent, the bind is anonymous. */
  readonly bind?: { readonly dn: string; readonly passwordFile: string };
  /** How long to wait for a server's answer, in milliseconds. */
  readonly timeoutMs: number;
  readonly pageSize: number;
  /** An answer with less than this percentage of the former users or groups is rejected as incomplete. */
  readonly keepPercent: number;
  readonly minimumGid: number;
  readonly users: LdapSearch & {
    readonly name: string;
    readonly uid: string;
    readonly gid: string;
    readonly home: string;
  };
  readonly groups: LdapSearch & {
    /** `rfc2307`: groups list user names; `rfc2307bis`: groups list users' DNs; `memberof`: users list groups' DNs. */
    readonly schema: GroupSchema;
    readonly name: string;
    readonly gid: string;
    readonly member: string;
  };
  /** Label selector of the namespaces to write. Default: all of the hook's. */
  readonly namespaceSelector: string;
  /** Present if the site's policies need the ConfigMaps of k8-ldap-configmap. */
  readonly configMaps?: {
    readonly namespace: string;
    readonly userPrefix: string;
    readonly maps: readonly ConfigMapKind[];
  };
}

export type GroupSchema = 'rfc2307' | 'rfc2307bis' | 'memberof';

export type LdapServer =
  | { readonly url: string; readonly socketPath: string }
  | {
      readonly url: string;
      readonly host: string;
      readonly port: number;
      /** `none` only for this host. */
      readonly tls: 'none' | 'start' | 'from-the-start';
    };

export interface LdapSearch {
  readonly bases: readonly string[];
  readonly scope: 'sub' | 'one';
  readonly filter: string;
}

const memberAttributes: Readonly<Record<GroupSchema, string>> = {
  rfc2307: 'memberUid',
  rfc2307bis: 'member',
  memberof: 'memberOf',
};

/**
 * Checks the section `ldap` of berth.yml.
 *
 * @throws BerthError `ldap-invalid`, with the path, line and column of each problem
 */
export function parseLdap(
  section: unknown,
  file: string,
  place: Locate = noPosition,
): LdapSettings {
  const source = { file, place };
  const parsed = ldapSchema.safeParse(section, { reportInput: true });
  if (!parsed.success) throw invalid(source, schemaMessages(parsed.error, ldapSchema, ['ldap']));
  return deepFreeze(settingsOf(parsed.data, source));
}

interface Source {
  readonly file: string;
  readonly place: Locate;
}

function settingsOf(options: LdapOptions, source: Source): LdapSettings {
  const { users, groups, config_maps: maps, bind_dn: dn, bind_password_file: secret } = options;
  if ((dn === undefined) !== (secret === undefined))
    throw wrong(source, 'bind_dn', 'ldap.bind_dn and ldap.bind_password_file must be set together');
  const schema = groups.schema ?? 'rfc2307';
  return {
    servers: options.url
      .split(/\s+/)
      .filter((url) => url !== '')
      .map((url) => server(url, options.start_tls, source)),
    caFile: options.ca_file,
    ...(dn === undefined || secret === undefined ? {} : { bind: { dn, passwordFile: secret } }),
    timeoutMs: options.timeout ?? 30_000,
    pageSize: options.page_size ?? 500,
    keepPercent: options.keep_percent ?? 80,
    minimumGid: options.minimum_gid ?? 1,
    namespaceSelector: options.namespace_selector ?? 'app.kubernetes.io/name=open-ondemand',
    users: {
      bases: [users.base].flat(),
      scope: users.scope ?? 'sub',
      filter: users.filter ?? '(objectClass=posixAccount)',
      name: users.name ?? 'uid',
      uid: users.uid ?? 'uidNumber',
      gid: users.gid ?? 'gidNumber',
      home: users.home ?? 'homeDirectory',
    },
    groups: {
      bases: [groups.base].flat(),
      scope: groups.scope ?? 'sub',
      filter: groups.filter ?? '(objectClass=posixGroup)',
      schema,
      name: groups.name ?? 'cn',
      gid: groups.gid ?? 'gidNumber',
      member: groups.member ?? memberAttributes[schema],
    },
    ...(maps && {
      configMaps: {
        namespace: maps.namespace ?? 'k8-ldap-configmap',
        userPrefix: maps.user_prefix ?? '',
        maps: [...new Set(maps.maps ?? (['user-uid', 'user-gid'] as const))],
      },
    }),
  };
}

/** TLS is required except to this host: whoever can modify an answer can give any user any UID. */
const thisHost = /^(?:localhost|127\.[0-9.]+|\[::1\])$/;

function server(url: string, startTls: boolean | undefined, source: Source): LdapServer {
  if (/^ldapi:\/\//i.test(url)) {
    const socketPath = decoded(url.slice('ldapi://'.length).replace(/\/$/, ''));
    if (socketPath?.startsWith('/') === true) return { url, socketPath };
    throw wrong(
      source,
      'url',
      `ldap.url: ${url}: write the socket as ldapi://%2Frun%2Fslapd%2Fldapi`,
    );
  }
  const parts = URL.canParse(url) ? new URL(url) : undefined;
  const plain = parts?.pathname === '' || parts?.pathname === '/';
  if (
    parts === undefined ||
    !plain ||
    parts.port === '0' ||
    !/^ldaps?:$/.test(parts.protocol) ||
    parts.hostname === ''
  )
    throw wrong(
      source,
      'url',
      `ldap.url: ${url} must be ldap://HOST, ldaps://HOST or ldapi://SOCKET`,
    );
  const secure = parts.protocol === 'ldaps:';
  if (secure && startTls === true)
    throw wrong(source, 'start_tls', 'ldap.start_tls is for ldap:// only, not for ldaps://');
  if (!secure && startTls === false && !thisHost.test(parts.hostname))
    throw wrong(
      source,
      'start_tls',
      `ldap.start_tls may be false only for a server on this host, not for ${url}`,
    );
  return {
    url,
    host: parts.hostname.replace(/^\[|\]$/g, ''),
    port: Number(parts.port === '' ? (secure ? 636 : 389) : parts.port),
    tls: secure ? 'from-the-start' : startTls === false ? 'none' : 'start',
  };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function wrong(source: Source, key: string, text: string): Error {
  return invalid(source, [{ path: ['ldap', key], text }]);
}

function invalid(source: Source, complaints: readonly ProblemMessage[]): Error {
  return configProblemsError('ldap-invalid', source, complaints);
}
