import type { LdapSettings } from '../../config/ldap-settings.ts';
import { firstRdn, normalDn } from './ldap-dn.ts';
import type { LdapAnswers, LdapEntry } from './ldap-entry.ts';

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
  readonly users: ReadonlyMap<string, LdapUser>;
  /** Number of valid groups. */
  readonly groups: number;
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
 * itself. Entries with the same name or the same UID are all left out.
 */
export function ldapUsersOf({ users, groups }: LdapAnswers, rules: UserRules): LdapUsers {
  const refused: RefusedEntry[] = [];
  const known = groups.flatMap((entry) => {
    const group = groupOf(entry, rules);
    if ('reason' in group) refused.push(group);
    return 'reason' in group ? [] : [group];
  });
  const memberships = membershipsOf(known, users, rules);
  const nameOfGid = new Map(known.map(({ gid, name }) => [gid, name]));
  const believed = users.flatMap((entry) => {
    const user = userOf(entry, rules, memberships.get(entry) ?? [], nameOfGid);
    if ('reason' in user) refused.push(user);
    return 'reason' in user ? [] : [{ user, entry }];
  });
  const byName = grouped(believed, ({ user }) => user.name);
  const byUid = grouped(believed, ({ user }) => user.uid);
  const alone = believed.filter((one) => {
    const { user, entry } = one;
    const twin = byName.get(user.name)?.find((other) => other !== one);
    const sharer = byUid.get(user.uid)?.find((other) => other !== one);
    if (twin === undefined && sharer === undefined) return true;
    const reason =
      twin === undefined
        ? `${sharer?.user.name ?? ''} has the same UID ${user.uid}`
        : `${twin.entry.dn} has the same name`;
    refused.push({ what: 'user', name: user.name, dn: entry.dn, reason });
    return false;
  });
  return {
    users: new Map(alone.map(({ user }) => [user.name, user])),
    groups: known.length,
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
    ...{ what: 'user', name: name ?? entry.dn, dn: entry.dn, reason },
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
    ...{ name, uid, gid },
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
function nameOf({ dn, values }: LdapEntry, attribute: string): string | undefined {
  const key = attribute.toLowerCase();
  const all = values.get(key) ?? [];
  if (all.length < 2) return all[0];
  const distinguished = firstRdn(dn).get(key)?.toLowerCase();
  return all.find((value) => value.toLowerCase() === distinguished);
}

/** A UID or GID, or the reason why it is invalid. */
function idOf({ values }: LdapEntry, attribute: string, minimum: number): number | string {
  const all = values.get(attribute.toLowerCase()) ?? [];
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
  const add = (user: LdapEntry | undefined, group: Group | undefined): void => {
    if (user !== undefined && group !== undefined) of.get(user)?.push(group);
  };
  if (schema === 'rfc2307') {
    const byName = grouped(users, (user) => nameOf(user, rules.users.name));
    for (const group of groups)
      for (const name of valuesOf(group.entry, member))
        for (const user of byName.get(name) ?? []) add(user, group);
    return of;
  }
  if (schema === 'rfc2307bis') {
    const byDn = new Map(users.map((user) => [normalDn(user.dn), user]));
    for (const group of groups)
      for (const dn of valuesOf(group.entry, member)) add(byDn.get(normalDn(dn)), group);
    return of;
  }
  const byDn = new Map(groups.map((group) => [normalDn(group.entry.dn), group]));
  for (const user of users)
    for (const dn of valuesOf(user, member)) add(user, byDn.get(normalDn(dn)));
  return of;
}

/** Removes duplicates, which some directories allow. */
function valuesOf({ values }: LdapEntry, attribute: string): readonly string[] {
  return [...new Set(values.get(attribute.toLowerCase()) ?? [])];
}

function grouped<T, Key>(all: readonly T[], key: (one: T) => Key): ReadonlyMap<Key, readonly T[]> {
  const groups = new Map<Key, T[]>();
  for (const one of all) {
    const group = groups.get(key(one));
    if (group === undefined) groups.set(key(one), [one]);
    else group.push(one);
  }
  return groups;
}
