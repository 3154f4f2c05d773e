import { isNamedAccount, type NamedAccounts } from './rules/directives.ts';
import { isPattern, type LintAccount, type UnlistedAccounts } from './rules/match-coverage.ts';
import { BerthError } from '../../system/errors/berth-error.ts';
import { checkUserName } from '../../system/identity/nss.ts';
import { getent, unlistedServices } from '../../system/getent.ts';
import { mapConcurrent } from '../../system/map-concurrent.ts';
import { runProgram } from '../../system/run-program.ts';

/** Which accounts to lint. */
export interface LintAccountQuery {
  /** Login names; if these or `groups` are given, only those accounts are linted. */
  readonly users: readonly string[];
  readonly groups: readonly string[];
  /** Groups and patterns of groups. Those without wildcards are looked up, since most directory services do not enumerate. */
  readonly mentioned: readonly string[];
  /** Accounts that sshd or PAM names; linted even if they are system accounts or not enumerated. */
  readonly named: NamedAccounts;
}

const atOnce = 4;

/** The accounts to lint, and what NSS does not tell about others. */
export interface LintAccounts extends UnlistedAccounts {
  readonly accounts: readonly LintAccount[];
}

/** System accounts are below this UID. They have neither keys nor passwords, so most are not linted. */
const firstUser = 1000;
const nobody = 65_534;

/**
 * The accounts of the query's users and groups. Without those: root, all regular users that NSS enumerates or that
 * are members of the mentioned groups, and the accounts that the configuration names.
 *
 * @throws {BerthError} `user-name-invalid`, `user-unknown`, `group-empty`, `nss-failed`
 */
export async function lintAccounts(query: LintAccountQuery): Promise<LintAccounts> {
  const { users, groups, named } = query;
  for (const name of users) checkUserName(name);
  const [allPasswd, allGroups] = await Promise.all([getent('passwd'), getent('group')]);
  const [passwd, group] = [allPasswd.map(fields), allGroups.map(fields)];
  const mentioned = query.mentioned.filter((name) => !isPattern(name));
  const asked = [...new Set([...groups, ...mentioned])];
  group.push(...(await entries('group', asked)));
  const database = new GroupDatabase(group);

  const members = groups.flatMap((name) => {
    const [member] = [
      ...database.membersOf(name),
      ...passwd
        .filter(([, , , gid = '']) => database.nameOf(gid) === name)
        .map(([name = '']) => name),
    ];
    if (member === undefined)
      throw new BerthError('group-empty', `no account in the group ${name} was found`);
    return member;
  });
  const wanted = [...new Set([...users, ...members])];
  if (wanted.length > 0) {
    const found = await entries('passwd', wanted);
    const missing = wanted.find((name) => !found.some(([one]) => one === name));
    if (missing !== undefined)
      throw new BerthError('user-unknown', `there is no user ${missing}`, {
        fields: { user: missing },
      });
    return { accounts: await withGroups(found), services: [], missingGroups: new Set() };
  }
  const known = new Set(passwd.map(([name]) => name));
  const byName = [
    ...mentioned.flatMap((name) => database.membersOf(name)),
    ...named.users.filter((name) => !isPattern(name)),
  ].filter((name) => !known.has(name));
  const lookedUp = await entries('passwd', [...new Set(byName)]);
  const hidden = lookedUp.filter(([name]) => !known.has(name));
  passwd.push(...hidden);
  const unlisted = await unlistedServices('passwd', allPasswd);
  // Without a comma, which ends a name for `sshd -T -C` and in group(5).
  const all = passwd.filter(([name = '']) => !/^$|,/.test(name));
  const accounts =
    hidden.length > 0 || (await unlistedServices('group', allGroups)).length > 0
      ? await withGroups(all)
      : all.map((line) => account(line, database.groupsOf(line[0] ?? '', line[3] ?? '')));
  return {
    accounts: accounts.filter(
      (one) =>
        (one.uid >= firstUser && one.uid !== nobody) || one.uid === 0 || isNamedAccount(one, named),
    ),
    // A service may also list a part only, such as the first thousand.
    services: unlisted.length > 0 || hidden.length === 0 ? unlisted : ['the directory service'],
    missingGroups: new Set(mentioned.filter((name) => !database.has(name))),
  };
}

/** With the groups that id(1) finds for each account; a few at once. */
async function withGroups(lines: readonly Entry[]): Promise<LintAccount[]> {
  return await mapConcurrent(lines, atOnce, async (line) => ({
    ...account(line, []),
    groups: await groupNames(line[0] ?? ''),
  }));
}

type Entry = readonly string[];

function account([name = '', , uid, , , , shell = '']: Entry, groups: string[]): LintAccount {
  return { name, uid: Number(uid), groups, shell };
}

class GroupDatabase {
  private readonly names = new Map<string, string>();
  private readonly members = new Map<string, Set<string>>();
  private readonly groups = new Map<string, Set<string>>();

  constructor(lines: readonly Entry[]) {
    for (const [name = '', , gid = '', list = ''] of lines) {
      this.names.set(gid, name);
      const members = this.members.get(name) ?? new Set();
      this.members.set(name, members);
      for (const member of list.split(',').filter((one) => one !== '')) {
        members.add(member);
        this.groups.set(member, (this.groups.get(member) ?? new Set()).add(name));
      }
    }
  }

  has(group: string): boolean {
    return this.members.has(group);
  }

  nameOf(gid: string): string | undefined {
    return this.names.get(gid);
  }

  membersOf(group: string): string[] {
    return [...(this.members.get(group) ?? [])];
  }

  groupsOf(user: string, gid: string): string[] {
    const primary = this.names.get(gid);
    return [...(primary === undefined ? [] : [primary]), ...(this.groups.get(user) ?? [])];
  }
}

/** id(1) asks NSS for one user, so it needs no enumeration. */
async function groupNames(user: string): Promise<string[]> {
  const { stdout } = await runProgram('/usr/bin/id', ['-Gnz', '--', user], {
    maxBuffer: 2 ** 28,
  });
  return stdout.split('\0').filter((name) => name !== '');
}

async function entries(database: string, keys: readonly string[]): Promise<Entry[]> {
  return (await getent(database, keys)).map(fields);
}

function fields(line: string): Entry {
  return line.split(':');
}
