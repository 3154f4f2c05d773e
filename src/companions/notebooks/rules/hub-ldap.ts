import type { LdapSettings } from '../../../config/schema/ldap-settings.ts';
import { BerthError } from '../../../system/errors/berth-error.ts';

/**
 * Traits of ldapauthenticator 2 for the directory of `ldap` in berth.yml. The user is the entry's own name, whatever was
 * typed, and no password goes over a connection without TLS, except to this host.
 *
 * @param passwordFile path, on the hub, of the password of `bind_dn`: the one of berth.yml is root's
 * @throws {BerthError} `hub-login-unsupported` for what that authenticator cannot do
 */
export function hubLdapTraits(
  ldap: LdapSettings,
  passwordFile: string,
): Readonly<Record<string, unknown>> {
  const servers = ldap.servers.flatMap((server) => ('host' in server ? [server] : []));
  const [first] = servers;
  const [base, ...otherBases] = ldap.users.bases;
  if (first === undefined || base === undefined)
    throw unsupported(
      "a directory at a Unix socket, which JupyterHub's authenticator cannot reach",
    );
  if (otherBases.length > 0)
    throw unsupported("several search bases, and JupyterHub's authenticator searches only one");
  const strategies = { none: 'insecure', start: 'before_bind', 'from-the-start': 'on_connect' };
  return {
    server_address: first.host,
    server_port: first.port,
    tls_strategy: strategies[first.tls],
    ...(ldap.caFile !== undefined && { ca_file: ldap.caFile }),
    lookup_dn: true,
    // The default has no upper case, no @ and no leading digit; what is found is checked once more.
    valid_username_regex: String.raw`^[A-Za-z0-9_][A-Za-z0-9_@.-]*\Z`,
    user_search_base: base,
    user_attribute: ldap.users.name,
    lookup_dn_search_filter: `(&${literal(ldap.users.filter)}({login_attr}={login}))`,
    lookup_dn_user_dn_attribute: ldap.users.name,
    use_lookup_dn_username: true,
    ...(ldap.bind === undefined
      ? {}
      : {
          lookup_dn_search_user: ldap.bind.dn,
          lookup_dn_search_password_file: passwordFile,
        }),
  };
}

/** A text in which Python's `str.format` replaces nothing. */
function literal(text: string): string {
  return text.replaceAll(/[{}]/g, '$&$&');
}

function unsupported(what: string): BerthError {
  return new BerthError('hub-login-unsupported', `the section ldap of berth.yml has ${what}`);
}
