import { slurmName } from './slurm-accounts-schema.ts';
import {
  type AccountRule,
  isBelowItself,
  type SlurmAccountsSettings,
} from './slurm-accounts-settings.ts';
import type { LdapUsers } from '../../../directory/rules/ldap-users.ts';

/** An account as the directory's groups and the configuration want it. */
export interface DesiredAccount extends Pick<AccountRule, 'parent' | 'qos' | 'defaultQos'> {
  /** Names in lower case, also those of which Berth makes no user of Slurm. */
  readonly users: ReadonlySet<string>;
  /** Whether groups say who is in it. The users of any other account are not Berth's. */
  readonly hasGroups: boolean;
  /** Why nobody may be taken for missing in it, such as a group that is not in the directory. */
  readonly hold: string | undefined;
}

export interface DesiredAccounts {
  /** By name, in the order of the rules: of the first that a user is in, a default account is made. */
  readonly accounts: ReadonlyMap<string, DesiredAccount>;
  /** Members and groups that are left out, each with the reason. */
  readonly skipped: readonly SkippedName[];
}

export interface SkippedName {
  readonly what: 'user' | 'group' | 'account' | 'line';
  readonly name: string;
  readonly reason: string;
}

interface DirectoryGroup {
  /** In lower case, as Slurm has names. */
  readonly name: string;
  readonly users: ReadonlySet<string>;
  /** Why its entry is not accepted. */
  readonly refused?: string;
}

/** The accounts that Slurm has, and which of them are Berth's from an earlier run, or all if the admin says so. */
export interface PresentAccounts {
  readonly present: ReadonlySet<string>;
  readonly ours: ReadonlySet<string>;
}

/**
 * Which accounts there should be and who should be in them. Names are compared and written in lower case, as slurmdbd does.
 * Of several rules for one account, the first counts for parent and QOS, and the members of all are in it. What a `*` names is an
 * account of its rule alone, and not one that was made by hand: whoever makes groups would choose it.
 */
export function desiredAccounts(
  people: LdapUsers,
  { accounts: rules }: Pick<SlurmAccountsSettings, 'accounts'>,
  { present, ours }: PresentAccounts,
): DesiredAccounts {
  const groups = groupsOf(people);
  const accounts = new Map<string, DesiredAccount>();
  const makers = new Map<string, AccountRule>();
  const refusal = (account: string, rule: AccountRule): string | undefined => {
    if (!slurmName.test(account) || account === 'root')
      return `${JSON.stringify(account)} cannot be the name of an account`;
    if (rules.some((one) => one !== rule && one.account === account) || makers.has(account))
      return `account ${account} is of another rule`;
    if (present.has(account) && !ours.has(account))
      return `account ${account} was not made by Berth: name it without * in a rule, or run this once with --adopt`;
    return undefined;
  };
  const skipped = new Map<string, SkippedName>();
  const skip = (one: SkippedName): void => void skipped.set(`${one.what} ${one.name}`, one);
  const add = (name: string, rule: AccountRule, group?: Partial<DirectoryGroup>): void => {
    const { parent, qos, defaultQos, users, hasGroups, hold } = accounts.get(name) ?? {
      ...rule,
      users: new Set<string>(),
      hasGroups: false,
      hold: undefined,
    };
    accounts.set(name, {
      parent,
      qos,
      defaultQos,
      hasGroups: hasGroups || rule.groups.length > 0,
      users: new Set([...users, ...(group?.users ?? [])]),
      hold: hold ?? group?.refused,
    });
  };
  for (const rule of rules) {
    if (!rule.account.includes('*')) add(rule.account, rule);
    for (const pattern of rule.groups) {
      const found = groups.flatMap((group) => {
        const part = partFor(pattern, group.name);
        return part === undefined
          ? []
          : [{ group, account: rule.account.replace('*', () => part) }];
      });
      for (const { group, account } of found) {
        const isNamed = account === rule.account || makers.get(account) === rule;
        const reason = isNamed ? undefined : refusal(account, rule);
        if (reason === undefined) {
          if (account !== rule.account) makers.set(account, rule);
          add(account, rule, group);
        } else skip({ what: 'group', name: group.name, reason });
      }
      if (found.length === 0 && !pattern.includes('*'))
        add(rule.account, rule, { refused: `group ${pattern} is not in the directory` });
    }
  }
  for (const name of [...accounts.keys()].filter((one) => isBelowItself(one, accounts))) {
    accounts.delete(name);
    skip({
      what: 'account',
      name,
      reason: 'groups would put it or an account above it below itself',
    });
  }
  for (const { users } of accounts.values())
    for (const user of users)
      if (!canBeAdded(user))
        skip({ what: 'user', name: user, reason: 'no user of such a name is added to Slurm' });
  return { accounts, skipped: [...skipped.values()] };
}

/**
 * Whether Berth makes a user of Slurm with this name: not Slurm's own `root`, and not of digits alone, which would be a UID to
 * sacctmgr(1). SSSD has names with `@` (use_fully_qualified_names). Who is in Slurm already may have any name.
 */
export function canBeAdded(user: string): boolean {
  return slurmName.test(user.replaceAll('@', '_')) && user !== 'root' && !/^\d+$/.test(user);
}

function groupsOf({ users, groupNames, refused }: LdapUsers): readonly DirectoryGroup[] {
  const members = new Map<string, Set<string>>(
    groupNames.map((name) => [name.toLowerCase(), new Set()]),
  );
  for (const user of users.values())
    for (const group of user.groupNames)
      members.get(group.toLowerCase())?.add(user.name.toLowerCase());
  return [
    ...[...members].map(([name, its]) => ({ name, users: its })),
    ...refused
      .filter(({ what }) => what === 'group')
      .map(({ name, reason }) => ({
        name: name.toLowerCase(),
        users: new Set<string>(),
        refused: `the entry of group ${name} is not accepted: ${reason}`,
      })),
  ];
}

/** What the `*` of a pattern stands for in a name, empty without one; undefined if the name does not match. */
function partFor(pattern: string, name: string): string | undefined {
  const [before = '', after] = pattern.toLowerCase().split('*');
  if (after === undefined) return name === before ? '' : undefined;
  const matches =
    name.length > before.length + after.length && name.startsWith(before) && name.endsWith(after);
  return matches ? name.slice(before.length, name.length - after.length) : undefined;
}
