import { BerthError, codeOf, type ErrorCode } from '../system/errors/berth-error.ts';

/** Result codes of RFC 4511, section 4.1.9. */
const codes: Readonly<Record<number, ErrorCode>> = {
  3: 'ldap-time-limit',
  4: 'ldap-size-limit',
  8: 'ldap-tls-required',
  10: 'ldap-referral',
  11: 'ldap-admin-limit',
  12: 'ldap-no-paging',
  13: 'ldap-tls-required',
  32: 'ldap-base-not-found',
  49: 'ldap-credentials-invalid',
  50: 'ldap-forbidden',
  51: 'ldap-busy',
  52: 'ldap-busy',
};

/** An answer with a result other than success. */
export function ldapResultError(attempted: string, code: number, said: string): BerthError {
  const words = said === '' ? '' : `: ${said}`;
  return new BerthError(
    codes[code] ?? 'ldap-refused',
    `${attempted}: the LDAP server answered with result ${code}${words}`,
    {
      fields: { result: code },
    },
  );
}

/** The connection ended, or the server sent invalid LDAP. */
export function ldapConnectionLost(attempted: string, reason: string, cause?: unknown): BerthError {
  return new BerthError('ldap-connection-lost', `${attempted}: ${reason}`, { cause });
}

export function ldapTimeout(attempted: string, milliseconds: number): BerthError {
  return new BerthError(
    'ldap-timeout',
    `${attempted}: no answer from the server for ${milliseconds / 1000} s`,
  );
}

/** The server returned only a part of the entries. */
export function ldapIncomplete(attempted: string, what: string, hint: string): BerthError {
  return new BerthError('ldap-incomplete', `${attempted}: ${what}`, {
    hint: `Nothing was changed, because an incomplete result would remove users and groups. ${hint}`,
  });
}

/** A wrong base or filter finds no users, and all of them would be marked as removed. */
export function ldapNobody(
  what: 'users' | 'groups',
  bases: readonly string[],
  filter: string,
): BerthError {
  return new BerthError(
    what === 'users' ? 'ldap-no-users' : 'ldap-no-groups',
    `no valid ${what} found below ${bases.join(' or ')} with ${filter}`,
  );
}

/** OpenSSL's and Node's codes for a certificate that is not accepted. */
const certificateCodes =
  /^(CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|ERR_TLS_CERT|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|ERR_SSL_)/;

/** Why no connection could be made. */
export function ldapUnreachable(url: string, thrown: unknown): BerthError {
  const code = codeOf(thrown);
  const reason = thrown instanceof Error ? thrown.message || code : String(thrown);
  if (certificateCodes.test(code))
    return new BerthError(
      'ldap-certificate',
      `${url}: the server's certificate is not accepted: ${reason}`,
      {
        cause: thrown,
      },
    );
  return new BerthError('ldap-unreachable', `${url}: ${reason}`, { cause: thrown });
}
