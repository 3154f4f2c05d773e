import { caseIgnoreKey, firstRdn } from './ldap-dn.ts';

/** An entry: values by attribute description in lower case, with its options (`uid;lang-de`). */
export interface LdapEntry {
  readonly dn: string;
  readonly values: ReadonlyMap<string, readonly string[]>;
}

/** All users and groups of the directory. */
export interface LdapAnswers {
  readonly url: string;
  readonly users: readonly LdapEntry[];
  readonly groups: readonly LdapEntry[];
}

/** The values of an attribute without options, each once: some directories allow duplicates. */
export function valuesOf({ values }: LdapEntry, attribute: string): readonly string[] {
  return [...new Set(values.get(attribute.toLowerCase()) ?? [])];
}

/** Attributes besides `users.name` whose values may be a person's login name on some host. */
export const nameAttributes = [
  ...['uid', 'sAMAccountName', 'userPrincipalName', 'krbPrincipalName'],
  ...['msSFU30Name', 'mail', 'cn'],
] as const;

/** An account that a namespace names. */
export interface NamedAccount {
  readonly owner: string;
  /** Its UID as text, if it is known. */
  readonly uid?: string | undefined;
}

/** Who of a directory may be the owner of a namespace, although no accepted user has exactly the owner's name. */
export class PossiblePeople {
  readonly #byName = new Map<string, string>();
  readonly #byUid = new Map<string, string>();

  /** @param verdict What became of the entry, as a clause after its DN. */
  add(entry: LdapEntry, { name, uid }: PersonAttributes, verdict: string): void {
    const description = `${entry.dn}, ${verdict}`;
    const wanted = new Set([name, ...nameAttributes].map((one) => one.toLowerCase()));
    const names = [...firstRdn(entry.dn).values()];
    for (const [type, values] of entry.values) {
      // Values with an option, too (RFC 4512, section 2.5.2): `uid;lang-de`.
      const attribute = type.replace(/;.*$/, '');
      if (wanted.has(attribute)) names.push(...values);
      if (attribute !== uid.toLowerCase()) continue;
      for (const id of values) this.#byUid.set(id, this.#byUid.get(id) ?? description);
    }
    for (const key of names.flatMap(looseKeys))
      this.#byName.set(key, this.#byName.get(key) ?? description);
  }

  /** Why the account may not be taken for missing: an entry that carries its name or its UID. */
  reasonToHold({ owner, uid }: NamedAccount): string | undefined {
    const [named] = looseKeys(owner).flatMap((key) => this.#byName.get(key) ?? []);
    if (named !== undefined) return `its owner ${owner} may be ${named}`;
    const same = uid === undefined ? undefined : this.#byUid.get(uid);
    return same && `its owner ${owner} may have a new name: UID ${uid} is of ${same}`;
  }
}

interface PersonAttributes {
  readonly name: string;
  readonly uid: string;
}

/** Keys of a name with and without `@realm`: without accents, which Active Directory ignores, and without the dotless `ı`. */
function looseKeys(name: string): string[] {
  const loose = caseIgnoreKey(name).normalize('NFKD').replace(/\p{M}/gu, '').replaceAll('ı', 'i');
  return [...new Set([loose, loose.replace(/@.*$/, '')])].filter((key) => key !== '');
}
