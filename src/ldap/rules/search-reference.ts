import { normalDn } from './ldap-dn.ts';

/** Active Directory's own naming contexts, as `normalDn` writes them: DNS zones, configuration, schema. */
const withoutPeople =
  /^(?:dc=(?:domain|forest)dnszones|(?:cn=schema\0)?cn=configuration)(?:\0dc=[^\0\x01]+)+$/;

/**
 * Whether a continuation reference (RFC 4511, section 4.5.3) leads to a part of Active Directory that has no people. A
 * domain controller sends one for each naming context below the base; any other may be a domain with people.
 */
export function leadsToNobody(uri: string): boolean {
  const encoded = /^ldaps?:\/\/[^/]*\/([^?]*)/i.exec(uri)?.[1] ?? '';
  try {
    return withoutPeople.test(normalDn(decodeURIComponent(encoded)) ?? '');
  } catch {
    // Not percent-encoding (RFC 4516): where it leads is not known.
    return false;
  }
}
