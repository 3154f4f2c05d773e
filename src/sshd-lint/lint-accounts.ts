import { isNamedAccount, type NamedAccounts } from './rules/directives.ts';
import type { LintAccount } from './rules/match-coverage.ts';
import { BerthError } from '../errors.ts';
import { checkUserName } from '../identity/nss.ts';
import { getent } from '../system/getent.ts';
import { runProgram } from '../system/run-program.ts';

/** Which accounts to lint. */
export interface LintAccountQuery {
  /** Login names; if these or `groups` are given, only those accounts are linted. */
  readonly users: readonly string[];
  readonly groups: readonly string[];
  /** Groups that are looked up by name, since most directory services do not enumerate. */
  readonly mentioned: readonly string[];
  /** Accounts that sshd's configuration names; linted even if they are system accounts or not enumerated. */
  readonly named: NamedAccounts;
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
export async function lintAccounts(query: LintAccountQuery): Promise<LintAccount[]> {
  const { users, groups, mentioned, named } = query;
  for (const name of users) checkUserName(name);
  const [passwd, group] = await Promise.all([entries('passwd'), entries('group')]);
  const asked = [...new Set([...groups, ...mentioned])];
  group.push(...(await entries('group', asked)));
  const database = new GroupDatabase(group);

  const members = groups.flatMap((name) => {
    const [member] = [...database.membersOf(name), ...primaryMembers(passwd, database, name)];
    if (member === undefined) throw groupEmpty(name);
    return member;
  });
  const wanted = [...new Set([...users, ...members])];
  if (wanted.length > 0) {
    const found = await entries('passwd', wanted);
    const missing = wanted.find((name) => !found.some(([one]) => one === name));
    if (missing !== undefined) throw userUnknown(missing);
    return Promise.all(found.map(withGroups));
  }
  const known = new Set(passwd.map(([name]) => name));
  const others = mentioned.flatMap((name) => database.membersOf(name).filter((m) => !known.has(m)));
  passwd.push(...(await entries('passwd', [...new Set(others)])));
  // Their groups may not be enumerated either, so id(1) is asked for them.
  const byName = named.users.filter(
    (name) => namePattern.test(name) && !passwd.some(([one]) => one === name),
  );
  const found = await entries('passwd', byName);
  const enumerated = passwd.map((line) =>
    account(line, database.groupsOf(line[0] ?? '', line[3] ?? '')),
  );
  return [...enumerated, ...(await Promise.all(found.map(withGroups)))]
    .filter((one) => isPerson(one) || one.uid === 0 || isNamedAccount(one, named))
    .filter(({ name }) => namePattern.test(name));
}

/** Names without wildcards, which `sshd -T -C` accepts. */
const namePattern = /^[\w@.-]+$/;

function isPerson({ uid }: LintAccount): boolean {
  return uid >= firstUser && uid !== nobody;
}

async function withGroups(line: Entry): Promise<LintAccount> {
  return { ...account(line, []), groups: await groupNames(line[0] ?? '') };
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

function primaryMembers(
  passwd: readonly Entry[],
  database: GroupDatabase,
  group: string,
): string[] {
  return passwd
    .filter(([, , , gid = '']) => database.nameOf(gid) === group)
    .map(([name = '']) => name);
}

const nssOptions = { env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' }, maxBuffer: 2 ** 28 };

/** id(1) asks NSS for one user, so it needs no enumeration. */
async function groupNames(user: string): Promise<string[]> {
  const { stdout } = await runProgram('/usr/bin/id', ['-Gnz', '--', user], nssOptions);
  return stdout.split('\0').filter((name) => name !== '');
}

async function entries(database: string, keys?: readonly string[]): Promise<Entry[]> {
  return (await getent(database, keys)).map((line) => line.split(':'));
}

function userUnknown(name: string): BerthError {
  return new BerthError(`there is no user ${name}`, {
    code: 'user-unknown',
    hint: `Check \`getent passwd ${name}\`. A directory service that is down gives the same result.`,
    fields: { user: name },
  });
}

function groupEmpty(name: string): BerthError {
  return new BerthError(`no account in the group ${name} was found`, {
    code: 'group-empty',
    hint: `Check \`getent group ${name}\`, or name an account with --user.`,
  });
}
