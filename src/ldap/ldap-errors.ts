import { BerthError, type ErrorDetails } from '../errors/berth-error.ts';

type Meaning = Pick<ErrorDetails, 'code' | 'exit' | 'hint'>;

const cut = 'Nothing was changed, because an incomplete result would remove users and groups.';

/** Result codes of RFC 4511, section 4.1.9, with the remedy for an admin. */
const meanings: Readonly<Record<number, Meaning>> = {
  3: {
    code: 'ldap-time-limit',
    hint: `${cut} Raise the time limit for ldap.bind_dn, or index the attributes of the filter in the LDAP server.`,
  },
  4: {
    code: 'ldap-size-limit',
    hint: `${cut} Raise the size limit for ldap.bind_dn (OpenLDAP: limits … size.prtotal=unlimited), or set a smaller ldap.page_size.`,
  },
  8: {
    code: 'ldap-tls-required',
    hint: 'Write ldaps:// in ldap.url, or remove start_tls: false.',
  },
  10: {
    code: 'ldap-referral',
    hint: `${cut} That part of the directory is on another server. Set ldap.url to a server that has all of it, or set search bases (ldap.users.base and ldap.groups.base may be lists) that do not contain the referral.`,
  },
  11: {
    code: 'ldap-admin-limit',
    hint: `${cut} The server's look-through limit is too small for this filter. Raise the limit, or index the attributes of the filter.`,
  },
  12: {
    code: 'ldap-no-paging',
    hint: 'The server does not support paged results (RFC 2696), or does not allow ldap.bind_dn to use them.',
  },
  32: {
    code: 'ldap-base-not-found',
    hint: 'Check ldap.users.base and ldap.groups.base. A server also returns this result if ldap.bind_dn may not read the entry.',
  },
  49: {
    code: 'ldap-credentials-invalid',
    hint: 'Compare ldap.bind_dn and the contents of ldap.bind_password_file: `ldapwhoami -x -D DN -y FILE`.',
  },
  50: {
    code: 'ldap-forbidden',
    hint: 'Allow ldap.bind_dn to read users and groups.',
  },
  51: busy(),
  52: busy(),
};

function busy(): Meaning {
  return {
    code: 'ldap-busy',
    hint: 'The server cannot answer now; the next run tries again.',
  };
}

/** An answer with a result other than success. */
export function ldapResultError(attempted: string, code: number, said: string): BerthError {
  const words = said === '' ? '' : `: ${said}`;
  return new BerthError(`${attempted}: the LDAP server answered with result ${code}${words}`, {
    ...(meanings[code] ??
      (code === 13 ? meanings[8] : undefined) ?? {
        code: 'ldap-refused',
        hint: "See RFC 4511, section 4.1.9, for the result, and the server's own log.",
      }),
    fields: { result: code },
  });
}

/** The connection ended, or the server sent invalid LDAP. */
export function ldapConnectionLost(attempted: string, reason: string, cause?: unknown): BerthError {
  return new BerthError(`${attempted}: ${reason}`, {
    code: 'ldap-connection-lost',
    hint: `${cut} Check whether the LDAP server is restarting. The next run tries again.`,
    cause,
  });
}

export function ldapTimeout(attempted: string, milliseconds: number): BerthError {
  return new BerthError(`${attempted}: no answer from the server for ${milliseconds / 1000} s`, {
    code: 'ldap-timeout',
    hint: 'Check whether the server is overloaded. The limit is ldap.timeout.',
  });
}

/** The server returned only a part of the entries. */
export function ldapIncomplete(attempted: string, what: string, hint: string): BerthError {
  return new BerthError(`${attempted}: ${what}`, {
    code: 'ldap-incomplete',
    hint: `${cut} ${hint}`,
  });
}

/** A wrong base or filter finds no users, and all of them would be marked as removed. */
export function ldapNobody(
  what: 'users' | 'groups',
  bases: readonly string[],
  filter: string,
): BerthError {
  return new BerthError(`no valid ${what} found below ${bases.join(' or ')} with ${filter}`, {
    code: what === 'users' ? 'ldap-no-users' : 'ldap-no-groups',
    hint: `Nothing was changed. See ldap.${what} in berth.yml, and whether ldap.bind_dn may read them.`,
  });
}

/** OpenSSL's and Node's codes for a certificate that is not accepted. */
const certificateCodes =
  /^(CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|ERR_TLS_CERT|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|ERR_SSL_)/;

/** Why no connection could be made. */
export function ldapUnreachable(url: string, thrown: unknown): BerthError {
  const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : '';
  const reason = thrown instanceof Error ? thrown.message || code : String(thrown);
  if (certificateCodes.test(code))
    return new BerthError(`${url}: the server's certificate is not accepted: ${reason}`, {
      code: 'ldap-certificate',
      hint: 'Compare ldap.ca_file with the CA that signed it, and the name in ldap.url with those in it: `openssl s_client -connect HOST:636`.',
      cause: thrown,
    });
  return new BerthError(`${url}: ${reason}`, {
    code: 'ldap-unreachable',
    hint: 'Check that the LDAP server is running and can be reached from this host. The next run tries again.',
    cause: thrown,
  });
}
