import type { CatalogueEntries } from './entry.ts';

/** `berth ldap-sync`. On every error, nothing is changed on the clusters. */
export const ldapErrors = {
  'ldap-not-configured': {
    what: '`berth ldap-sync` was run, but the configuration has no section `ldap`.',
    why: 'The section is in a different file from the one that was read.',
    next: 'Name the file: `berth ldap-sync --config /etc/berth/ldap-sync.yml`. /usr/lib/berth/share/docs/ldap-sync.md has an example.',
  },
  'ldap-invalid': {
    what: 'The section `ldap` has a key that does not exist, or a value that its key does not accept.',
    why: 'A misspelled key, or two keys that contradict each other, such as `start_tls` with an ldaps address.',
    next: 'Correct the lines that are named.',
  },
  'ldap-password-unsafe': {
    what: 'The password file was not used, because other accounts of this host can read it.',
    why: 'Its mode is not 0600.',
    next: 'Run `chmod 0600 FILE`, and replace the password if users can log in to this host.',
  },
  'ldap-unreachable': {
    what: 'No connection to the LDAP server could be established.',
    why: 'It is down, its name does not resolve, or a firewall blocks this host.',
    next: 'Try `ldapsearch -x -H URL -b "" -s base`. The next run asks again.',
  },
  'ldap-certificate': {
    what: 'The certificate of the LDAP server was not accepted.',
    why: '`ldap.ca_file` does not contain the CA that signed it, it has expired, or it does not contain the name in `ldap.url`.',
    next: 'Compare with `openssl s_client -connect HOST:636`.',
  },
  'ldap-connection-lost': {
    what: 'The LDAP server closed the connection before it had answered.',
    why: 'It is restarting, or it limits how long a connection may stay open.',
    next: 'The next run tries again. If the error persists, check the server’s log.',
  },
  'ldap-timeout': {
    what: 'The LDAP server did not answer in time.',
    why: 'It is overloaded, or the attributes of the filter have no index.',
    next: 'Raise `ldap.timeout`, or index the attributes.',
  },
  'ldap-busy': {
    what: 'The LDAP server reports that it is busy or unavailable.',
    why: 'Maintenance or load.',
    next: 'The next run tries again.',
  },
  'ldap-credentials-invalid': {
    what: 'The LDAP server did not accept the name or the password (result 49).',
    why: 'The password was changed or has expired, or `ldap.bind_dn` is misspelled.',
    next: 'Try `ldapwhoami -x -H URL -D DN -y FILE`.',
  },
  'ldap-forbidden': {
    what: 'The account `ldap.bind_dn` may not read users or groups (result 50).',
    why: 'The server’s access control (ACLs) does not allow it.',
    next: 'Allow it to read the entries below `ldap.users.base` and `ldap.groups.base`.',
  },
  'ldap-tls-required': {
    what: 'The LDAP server requires an encrypted connection.',
    why: '`ldap.url` is ldap:// and `ldap.start_tls` is false.',
    next: 'Use ldaps:// in `ldap.url`, or remove `start_tls: false`.',
  },
  'ldap-base-not-found': {
    what: 'The search base does not exist (result 32).',
    why: '`ldap.users.base` or `ldap.groups.base` is misspelled. Servers also return this result if `ldap.bind_dn` may not read the entry.',
    next: 'Try `ldapsearch -x -H URL -D DN -y FILE -b BASE -s base`.',
  },
  'ldap-no-paging': {
    what: 'The LDAP server does not support paged results (RFC 2696) for this account.',
    why: 'The control is disabled in the server or denied to `ldap.bind_dn`.',
    next: 'Enable the control 1.2.840.113556.1.4.319 for this account.',
  },
  'ldap-no-users': {
    what: 'The search, below one of the bases or below all of them, found no user that Berth can use. Nothing was changed.',
    why: '`ldap.users.filter` or `ldap.users.base` is wrong, `ldap.bind_dn` cannot read uidNumber and gidNumber, or all UIDs are below `minimum_uid`.',
    next: 'Run the same filter with `ldapsearch`.',
  },
  'ldap-no-groups': {
    what: 'The search, below one of the bases or below all of them, found no group that Berth can use. Nothing was changed.',
    why: '`ldap.groups.filter`, `ldap.groups.base` or `ldap.groups.schema` does not fit the directory.',
    next: 'Run the same filter with `ldapsearch`.',
  },
  'ldap-size-limit': {
    what: 'The LDAP server stopped at its size limit (result 4). The incomplete answer was not used.',
    why: 'The limit for `ldap.bind_dn` is smaller than the number of entries.',
    next: 'Raise it (OpenLDAP: a line `limits` with size.prtotal=unlimited), or lower `ldap.page_size`.',
  },
  'ldap-time-limit': {
    what: 'The LDAP server stopped at its time limit (result 3). The incomplete answer was not used.',
    why: 'The attributes of the filter have no index.',
    next: 'Index them, or raise the time limit for `ldap.bind_dn`.',
  },
  'ldap-admin-limit': {
    what: 'The LDAP server stopped at its administrative limit (result 11). The incomplete answer was not used.',
    why: 'The look-through limit of the server is too small for this filter.',
    next: 'Raise the limit, or index the attributes of the filter.',
  },
  'ldap-referral': {
    what: 'A part of the directory is on another server (result 10). Berth does not follow referrals.',
    why: '`ldap.url` names a server that has only a part of the entries.',
    next: 'Name a server that has all of them in `ldap.url`, or bases that do not contain the referral: `ldap.users.base` and `ldap.groups.base` may be lists. References of Active Directory to its DNS zones and configuration are no error.',
  },
  'ldap-incomplete': {
    what: 'The answer of the LDAP server was incomplete and was not used.',
    why: 'The message has the reason: a continuation reference, a search that never ends, or a list of members that the server truncates.',
    next: 'Follow the hint. For Active Directory: range retrieval cuts off groups with more than 1500 members.',
  },
  'ldap-too-few-entries': {
    what: 'The directory has far fewer users or groups than at the last run, or none of the users of the namespaces. Nothing was changed.',
    why: 'The result was truncated, the filter was changed, or many accounts were really removed.',
    next: 'Compare with `ldapsearch`. If it is correct, run `berth ldap-sync --accept-fewer` once. `ldap.keep_percent` is the limit.',
  },
  'ldap-refused': {
    what: 'The LDAP server returned a result that has no Berth error code of its own.',
    why: 'The message contains the LDAP result code (RFC 4511, section 4.1.9).',
    next: 'Look at the log of the LDAP server.',
  },
  'ldap-filter-invalid': {
    what: 'A filter in the section `ldap` is not a valid LDAP filter.',
    why: 'A missing parenthesis.',
    next: 'Write it as in RFC 4515: `(&(objectClass=posixAccount)(uid=a*))`.',
  },
  'config-map-too-large': {
    what: 'A ConfigMap of `ldap-sync` would exceed the size that Kubernetes allows. Nothing was changed.',
    why: 'Many users, or many groups for each.',
    next: 'Remove that ConfigMap from `ldap.config_maps.maps`, or narrow `ldap.users.filter`.',
  },
} as const satisfies CatalogueEntries;
