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
  'uid',
  'sAMAccountName',
  'userPrincipalName',
  'krbPrincipalName',
  'msSFU30Name',
  'mail',
  'cn',
] as const;

/** An account that a namespace names. */
export interface NamedAccount {
  readonly owner: string;
  /** Its UID as text, if it is known. */
  readonly uid?: string | undefined;
}

/** Of these, what people often may write themselves: it can name anybody. */
const ownWords = new Set(['mail', 'cn']);

/** An entry that may be a person's. */
interface Possibility {
  /** Its DN, and what became of it. */
  readonly description: string;
  /** Whether only one of `ownWords` says so. */
  readonly isMere: boolean;
}

/** For how many runs such a word keeps somebody: a day of the timers. */
const mostRuns = 96;

/** For how many runs each account was kept by such a word, by `caseIgnoreKey`. */
export type HeldRuns = ReadonlyMap<string, number>;

/** Who of a directory may be the owner of a namespace, although no accepted user has exactly the owner's name. */
export class PossiblePeople {
  readonly #byName = new Map<string, Possibility>();
  readonly #byUid = new Map<string, string>();

  /** @param verdict What became of the entry, as a clause after its DN. */
  add(entry: LdapEntry, { name, uid }: PersonAttributes, verdict: string): void {
    const description = `${entry.dn}, ${verdict}`;
    const wanted = new Set([name, ...nameAttributes].map((one) => one.toLowerCase()));
    const note = (attribute: string, values: Iterable<string>): void => {
      const isMere = ownWords.has(attribute) && attribute !== name.toLowerCase();
      for (const key of [...values].flatMap(looseKeys))
        if ((this.#byName.get(key)?.isMere ?? true) && !(isMere && this.#byName.has(key)))
          this.#byName.set(key, { description, isMere });
    };
    for (const [attribute, value] of firstRdn(entry.dn)) note(attribute, [value]);
    for (const [type, values] of entry.values) {
      // Values with an option, too (RFC 4512, section 2.5.2): `uid;lang-de`.
      const attribute = type.replace(/;.*$/, '');
      if (wanted.has(attribute)) note(attribute, values);
      if (attribute !== uid.toLowerCase()) continue;
      for (const id of values) this.#byUid.set(id, this.#byUid.get(id) ?? description);
    }
  }

  /**
   * Why the account may not be taken for missing: an entry that carries its name or its UID. A `cn` or `mail` alone holds for a bounded number
   * of runs.
   *
   * @param before What the last run has left.
   * @param after Gets what the next one has to know.
   */
  reasonToHold(
    { owner, uid }: NamedAccount,
    before: HeldRuns,
    after: Map<string, number>,
  ): string | undefined {
    const found = looseKeys(owner).flatMap((key) => this.#byName.get(key) ?? []);
    const named = found.find(({ isMere }) => !isMere) ?? found[0];
    if (named?.isMere === false) return `its owner ${owner} may be ${named.description}`;
    const same = uid === undefined ? undefined : this.#byUid.get(uid);
    if (same !== undefined)
      return `its owner ${owner} may have a new name: UID ${uid} is of ${same}`;
    if (named === undefined) return undefined;
    const key = caseIgnoreKey(owner);
    const runs = (before.get(key) ?? 0) + 1;
    after.set(key, Math.min(runs, mostRuns + 1));
    if (runs > mostRuns) return undefined;
    return `its owner ${owner} may be ${named.description}, by the cn or mail of that entry alone: this is run ${runs} of ${mostRuns}, after which ${owner} counts as missing`;
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
