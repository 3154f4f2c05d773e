import type { LdapSettings } from '../../config/schema/ldap-settings.ts';
import { caseIgnoreKey, firstRdn, normalDn } from './ldap-dn.ts';
import { type LdapAnswers, type LdapEntry, PossiblePeople, valuesOf } from './possible-people.ts';

/** A user of the directory, with all numbers checked. */
export interface LdapUser {
  readonly name: string;
  readonly uid: number;
  /** The primary group. */
  readonly gid: number;
  /** Every group, the primary one among them, ascending. */
  readonly groups: readonly number[];
  /** Names of the groups that the directory has. */
  readonly groupNames: readonly string[];
  readonly home: string;
}

/** An entry that is left out, and the reason. */
export interface RefusedEntry {
  readonly what: 'user' | 'group';
  readonly name: string;
  readonly dn: string;
  readonly reason: string;
}

export interface LdapUsers {
  /** By `caseIgnoreKey` of their names. */
  readonly users: ReadonlyMap<string, LdapUser>;
  readonly possible: Pick<PossiblePeople, 'reasonToHold'>;
  /** The names of the valid groups, one for each: several may have the same. */
  readonly groupNames: readonly string[];
  readonly refused: readonly RefusedEntry[];
}

export type UserRules = Pick<LdapSettings, 'users' | 'groups' | 'minimumGid'> & {
  /** The hook makes no namespace for accounts below it either. */
  readonly minimumUid: number;
};

/** uid_t and gid_t without -1, which chown(2) takes for "leave it". */
const largestId = 4_294_967_294;

interface Group {
  readonly name: string;
  readonly gid: number;
  readonly entry: LdapEntry;
}

/**
 * The directory's entries as users with their groups. An entry with an invalid number is left out by
 * itself. Entries that share a name or the UID are all left out.
 */
export function ldapUsersOf({ users, groups }: LdapAnswers, rules: UserRules): LdapUsers {
  const refused: RefusedEntry[] = [];
  const possible = new PossiblePeople();
  const refuse = (entry: LdapEntry, one: RefusedEntry): void => {
    refused.push(one);
    if (one.what === 'user')
      possible.add(entry, rules.users, `whose entry is not accepted: ${one.reason}`);
  };
  const known = groups.flatMap((entry) => {
    const group = groupOf(entry, rules);
    if ('reason' in group) refuse(entry, group);
    return 'reason' in group ? [] : [group];
  });
  const memberships = membershipsOf(known, users, rules);
  const nameOfGid = new Map(known.map(({ gid, name }) => [gid, name]));
  const believed = users.flatMap((entry) => {
    const user = userOf(entry, rules, memberships.get(entry) ?? [], nameOfGid);
    if ('reason' in user) refuse(entry, user);
    return 'reason' in user ? [] : [{ user, entry }];
  });
  const byName = grouped(believed, ({ entry }) => nameKeys(entry, rules));
  const byUid = grouped(believed, ({ user }) => [user.uid]);
  const alone = believed.filter((one) => {
    const { user, entry } = one;
    const twin = nameKeys(entry, rules)
      .flatMap((key) => byName.get(key) ?? [])
      .find((other) => other !== one);
    const sharer = byUid.get(user.uid)?.find((other) => other !== one);
    if (twin === undefined && sharer === undefined) {
      possible.add(entry, rules.users, `whose login name is ${user.name}`);
      return true;
    }
    const reason =
      twin === undefined
        ? `${sharer?.user.name ?? ''} has the same UID ${user.uid}`
        : `${twin.entry.dn} has the same name`;
    refuse(entry, { what: 'user', name: user.name, dn: entry.dn, reason });
    return false;
  });
  return {
    users: new Map(alone.map(({ user }) => [caseIgnoreKey(user.name), user])),
    groupNames: known.map(({ name }) => name),
    possible,
    refused,
  };
}

function userOf(
  entry: LdapEntry,
  { users, minimumUid, minimumGid }: UserRules,
  groups: readonly Group[],
  nameOfGid: ReadonlyMap<number, string>,
): LdapUser | RefusedEntry {
  const name = nameOf(entry, users.name);
  const refuse = (reason: string): RefusedEntry => ({
    what: 'user',
    name: name ?? entry.dn,
    dn: entry.dn,
    reason,
  });
  if (name === undefined) return refuse(`it has no single ${users.name}`);
  // The user names that nginx_stage accepts.
  if (!/^[A-Za-z0-9_@.-]+$/.test(name)) return refuse(`${users.name} is not a valid login name`);
  const uid = idOf(entry, users.uid, minimumUid);
  if (typeof uid === 'string') return refuse(uid);
  const gid = idOf(entry, users.gid, minimumGid);
  if (typeof gid === 'string') return refuse(gid);
  const gids = new Set([gid, ...groups.map((group) => group.gid)]);
  const primary = nameOfGid.get(gid);
  const names = [...(primary === undefined ? [] : [primary]), ...groups.map((one) => one.name)];
  return {
    name,
    uid,
    gid,
    groups: [...gids].sort((a, b) => a - b),
    groupNames: [...new Set(names)].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
    home: entry.values.get(users.home.toLowerCase())?.[0] ?? '',
  };
}

function groupOf(entry: LdapEntry, { groups, minimumGid }: UserRules): Group | RefusedEntry {
  const name = nameOf(entry, groups.name);
  const gid = idOf(entry, groups.gid, minimumGid);
  if (name !== undefined && typeof gid === 'number') return { name, gid, entry };
  const reason = typeof gid === 'string' ? gid : `it has no single ${groups.name}`;
  return { what: 'group', name: name ?? entry.dn, dn: entry.dn, reason };
}

/** Of several values, the one in the DN. */
function nameOf(entry: LdapEntry, attribute: string): string | undefined {
  const all = valuesOf(entry, attribute);
  if (all.length < 2) return all[0];
  const distinguished = caseIgnoreKey(firstRdn(entry.dn).get(attribute.toLowerCase()) ?? '');
  return all.find((value) => caseIgnoreKey(value) === distinguished);
}

/** All values of `users.name`, as they are compared. */
function nameKeys(entry: LdapEntry, { users }: UserRules): readonly string[] {
  return [...new Set(valuesOf(entry, users.name).map(caseIgnoreKey))];
}

/** A UID or GID, or the reason why it is invalid. */
function idOf(entry: LdapEntry, attribute: string, minimum: number): number | string {
  const all = valuesOf(entry, attribute);
  const [text] = all;
  if (text === undefined) return `it has no ${attribute}`;
  if (all.length > 1) return `it has ${all.length} values of ${attribute}`;
  if (!/^(?:0|-?[1-9][0-9]{0,15})$/.test(text)) return `${attribute} is not a number`;
  const id = Number(text);
  if (id < minimum) return `${attribute} ${text} is below ${minimum}`;
  return id > largestId ? `${attribute} ${text} is above ${largestId}` : id;
}

/** The groups of each user's entry, without the primary one. */
function membershipsOf(
  groups: readonly Group[],
  users: readonly LdapEntry[],
  rules: UserRules,
): ReadonlyMap<LdapEntry, readonly Group[]> {
  const { schema, member } = rules.groups;
  const of = new Map<LdapEntry, Group[]>(users.map((user) => [user, []]));
  const add = (user: LdapEntry, group: Group): void => void of.get(user)?.push(group);
  if (schema === 'memberof') {
    const named = byDn(groups, ({ entry }) => entry.dn);
    for (const user of users)
      for (const dn of valuesOf(user, member)) for (const group of named(dn)) add(user, group);
    return of;
  }
  const byName = grouped(users, (user) => nameKeys(user, rules));
  const named =
    schema === 'rfc2307bis'
      ? byDn(users, ({ dn }) => dn)
      : (name: string) => byName.get(caseIgnoreKey(name)) ?? [];
  for (const group of groups)
    for (const text of valuesOf(group.entry, member))
      for (const user of named(text)) add(user, group);
  return of;
}

/**
 * Finds what has a DN, in whatever way it is written. If several have it, only in the way in which they write it: a server
 * may distinguish what `normalDn` does not, such as `ß` and `ss`.
 */
function byDn<T>(all: readonly T[], dnOf: (one: T) => string): (dn: string) => readonly T[] {
  const keys = (dn: string): readonly string[] => [normalDn(dn) ?? []].flat();
  const index = grouped(all, (one) => keys(dnOf(one)));
  return (dn) => {
    const same = keys(dn).flatMap((key) => index.get(key) ?? []);
    return same.length < 2 ? same : same.filter((one) => dnOf(one) === dn);
  };
}

/** By each of their keys. */
function grouped<T, Key>(
  all: readonly T[],
  keys: (one: T) => readonly Key[],
): ReadonlyMap<Key, readonly T[]> {
  const groups = new Map<Key, T[]>();
  for (const one of all)
    for (const key of keys(one)) {
      const group = groups.get(key);
      if (group === undefined) groups.set(key, [one]);
      else group.push(one);
    }
  return groups;
}
