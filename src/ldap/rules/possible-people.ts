import { countText } from '../../count-text.ts';
import { BerthError } from '../../errors/berth-error.ts';
import { caseIgnoreKey, firstRdn } from './ldap-dn.ts';
import type { LdapUsers } from './ldap-users.ts';
import type { NamespacePlan } from './namespace-annotations.ts';

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

/**
 * Namespaces that may be marked in one run regardless of `keep_percent`, for small sites: there, one person is more than
 * 20 percent. But several namespaces and none of their users in the directory are a wrong attribute or base.
 */
const fewMarks = 5;

/**
 * Refuses a directory that has become much smaller: its answer may be partial although it looked complete, for
 * example from a new replica, or because a filter misses a subtree.
 *
 * @param last The numbers of users and groups in the last run.
 * @param keepPercent `ldap.keep_percent`
 * @throws {BerthError} `ldap-too-few-entries`
 */
export function assertEnoughEntries(
  people: LdapUsers,
  last: Readonly<Record<string, string>>,
  plan: NamespacePlan,
  keepPercent: number,
): void {
  const compare = (what: string, count: number, before: number): void => {
    if (count * 100 >= before * keepPercent) return;
    throw tooFew(
      `the directory returned far fewer entries than in the last run: there are ${count} ${what}, and last time there were ${before}`,
      keepPercent,
    );
  };
  compare('users', people.users.size, Number(last.users ?? 0));
  compare('groups', people.groups, Number(last.groups ?? 0));
  const marks = plan.changes.filter(({ kind }) => kind === 'mark').length;
  const isNobodyLeft = marks > 1 && marks === plan.active;
  if (isNobodyLeft || (marks > fewMarks && marks * 100 > plan.active * (100 - keepPercent)))
    throw tooFew(
      `the directory no longer has the users of ${marks} of ${countText(plan.active, 'namespace')}`,
      keepPercent,
    );
}

function tooFew(found: string, keepPercent: number): BerthError {
  return new BerthError(found, {
    code: 'ldap-too-few-entries',
    hint: `Nothing was changed: fewer than ${keepPercent} percent (ldap.keep_percent) counts as incomplete. If that many accounts were really removed, run \`berth ldap-sync --accept-fewer\` once.`,
  });
}
