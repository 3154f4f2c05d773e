import type { Account } from '../site/accounts.ts';
import type { Site } from '../site/site.ts';
import { baseDn, personEntry, readerAccount, Slapd } from '../slapd.ts';

/** Passwords of the people in the directory. */
export const ldapPassword = 'päss wörd';

/**
 * A slapd with these accounts, and the section `ldap` of berth.yml for it.
 *
 * @param aliases further entries: UID by name
 */
export async function startHubDirectory(
  site: Site,
  accounts: readonly Account[],
  aliases: Readonly<Record<string, number>> = {},
): Promise<{ readonly slapd: Slapd; readonly ldap: object }> {
  const certificate = await site.certificates.server('slapd', ['127.0.0.1']);
  const people = [
    ...accounts.map(({ name, uid }) => [name, uid] as const),
    ...Object.entries(aliases),
  ];
  const slapd = await Slapd.start(
    { certificate, ca: site.ca.file },
    people.map(([name, uid]) =>
      personEntry(name, uid, {
        objectClass: ['account', 'posixAccount', 'simpleSecurityObject'],
        userPassword: ldapPassword,
      }),
    ),
  );
  const ldap = {
    url: `ldaps://127.0.0.1:${slapd.ports.ldaps}`,
    ca_file: site.ca.file,
    bind_dn: readerAccount.dn,
    bind_password_file: slapd.passwordFile,
    users: { base: `ou=people,${baseDn}` },
    groups: { base: `ou=groups,${baseDn}` },
  };
  return { slapd, ldap };
}
