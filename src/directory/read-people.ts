import { beforeDeadline } from '../clusters/access/for-each-cluster.ts';
import type { LdapSecrets } from '../config/load/load-ldap-settings.ts';
import type { LdapSettings } from '../config/schema/ldap-settings.ts';
import { BerthError } from '../system/errors/berth-error.ts';
import type { Deadline } from '../system/deadline.ts';
import { LdapConnection, type LdapConnectOptions } from './ldap-connection.ts';
import { ldapNobody } from './ldap-errors.ts';
import { searchAll } from './ldap-search.ts';
import { type LdapUsers, ldapUsersOf } from './rules/ldap-users.ts';
import { type LdapAnswers, type LdapEntry, nameAttributes } from './rules/possible-people.ts';

export interface DirectoryInput {
  readonly ldap: LdapSettings;
  readonly secrets: LdapSecrets;
  readonly minimumUid: number;
  readonly deadline: Deadline;
  /** Called with a description of the current step. */
  readonly onProgress?: (what: string) => void;
}

/** Who is in the directory, and the URL of the server that answered. */
export interface DirectoryPeople {
  readonly url: string;
  readonly people: LdapUsers;
}

/**
 * Reads the whole directory before anything is written.
 *
 * @throws BerthError `ldap-…` if it could not be read completely, or has no valid user or group; `deadline-exceeded`
 */
export async function readPeople({
  ldap,
  secrets,
  minimumUid,
  deadline,
  onProgress,
}: DirectoryInput): Promise<DirectoryPeople> {
  const answers = await beforeDeadline(
    readDirectory(ldap, {
      ...secrets,
      timeoutMs: ldap.timeoutMs,
      onProgress: (what, count) => onProgress?.(`reading the directory: ${count} ${what}`),
    }),
    deadline,
  );
  const people = ldapUsersOf(answers, { ...ldap, minimumUid });
  if (people.users.size === 0) throw ldapNobody('users', ldap.users.bases, ldap.users.filter);
  if (people.groupNames.length === 0)
    throw ldapNobody('groups', ldap.groups.bases, ldap.groups.filter);
  return { url: answers.url, people };
}

interface ReadOptions extends LdapConnectOptions {
  readonly onProgress?: (what: 'users' | 'groups', count: number) => void;
}

/**
 * Reads all users and groups from the first server that can be reached, over one connection.
 *
 * @throws BerthError those of `LdapConnection` and `searchAll`; there is no partial result
 */
async function readDirectory(settings: LdapSettings, options: ReadOptions): Promise<LdapAnswers> {
  const connection = await firstReachable(settings, options);
  const { users, groups, pageSize } = settings;
  const ask = async (
    what: 'users' | 'groups',
    search: LdapSettings['users' | 'groups'],
    attributes: readonly string[],
  ): Promise<LdapEntry[]> => {
    // By DN: bases may overlap.
    const found = new Map<string, LdapEntry>();
    for (const base of search.bases) {
      const before = found.size;
      const entries = await searchAll(connection, search, {
        base,
        what,
        attributes,
        pageSize,
        onPage: (count) => options.onProgress?.(what, before + count),
      });
      // Of several bases, too, none may be misspelled or hidden.
      if (entries.length === 0) throw ldapNobody(what, [base], search.filter);
      for (const entry of entries) found.set(entry.dn, entry);
    }
    return [...found.values()];
  };
  const memberOf = groups.schema === 'memberof';
  try {
    return {
      url: connection.url,
      users: await ask('users', users, [
        users.name,
        users.uid,
        users.gid,
        users.home,
        ...nameAttributes,
        ...(memberOf ? [groups.member] : []),
      ]),
      groups: await ask('groups', groups, [
        groups.name,
        groups.gid,
        ...(memberOf ? [] : [groups.member]),
      ]),
    };
  } finally {
    connection.close();
  }
}

async function firstReachable(
  { servers }: LdapSettings,
  options: ReadOptions,
): Promise<LdapConnection> {
  let away: BerthError | undefined;
  for (const server of servers) {
    try {
      return await LdapConnection.open(server, options);
    } catch (error) {
      // The next server is tried only if this one is unreachable, not if it refuses the request.
      if (!(error instanceof BerthError) || error.exit !== 'temporary') throw error;
      away ??= error;
    }
  }
  throw away ?? new Error('ldap.url names no server');
}
