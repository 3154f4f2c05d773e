import { parseSlurmAccounts } from '../../../../src/companions/slurm-accounts/rules/slurm-accounts-settings.ts';
import { parseLdap } from '../../../../src/config/schema/ldap-settings.ts';
import { ldapUsersOf } from '../../../../src/directory/rules/ldap-users.ts';
import type { LdapEntry } from '../../../../src/directory/rules/possible-people.ts';
import {
  type AssociationPlan,
  planAssociations,
  type SyncMemory,
} from '../../../../src/companions/slurm-accounts/rules/association-plan.ts';
import type { LiveAssociation } from '../../../../src/companions/slurm-accounts/rules/live-accounts.ts';
import { desiredAccounts } from '../../../../src/companions/slurm-accounts/rules/desired-accounts.ts';
import { stepArguments } from '../../../../src/companions/slurm-accounts/rules/sacctmgr-argv.ts';

const ldap = parseLdap(
  { url: 'ldapi://%2Fldapi', users: { base: 'dc=a' }, groups: { base: 'dc=a' } },
  'berth.yml',
);

interface Given {
  /** Members by the names of groups. */
  readonly groups: Readonly<Record<string, readonly string[]>>;
  /** Who has an entry; by default all members. */
  readonly people?: readonly string[];
  readonly rules: readonly object[];
  /** `ACCOUNT USER PARTITION MAXSUBMIT` or `ACCOUNT < PARENT`. */
  readonly live?: readonly string[];
  readonly defaults?: Readonly<Record<string, string>>;
  readonly closed?: SyncMemory['closed'];
  readonly known?: readonly string[];
  readonly keepUsers?: readonly string[];
  readonly adopt?: boolean;
  /** Each user's cn. */
  readonly cn?: Readonly<Record<string, string>>;
  readonly held?: SyncMemory['held'];
  readonly members?: SyncMemory['members'];
  /** Groups with an entry that is not accepted. */
  readonly broken?: readonly string[];
}

function entry(dn: string, values: Readonly<Record<string, readonly string[]>>): LdapEntry {
  return { dn, values: new Map(Object.entries(values)) };
}

export function planned(given: Given): AssociationPlan & { readonly skipped: readonly string[] } {
  const { groups, rules, live = [], closed = [], known = [], broken = [], members } = given;
  const names = given.people ?? [...new Set(Object.values(groups).flat())];
  const people = ldapUsersOf(
    {
      url: '',
      users: names.map((name, n) =>
        entry(`uid=${name},dc=a`, {
          uid: [name],
          uidnumber: [String(2000 + n)],
          gidnumber: ['9'],
          cn: [given.cn?.[name] ?? []].flat(),
        }),
      ),
      groups: [
        ...Object.entries(groups).map(([cn, memberuid], n) =>
          entry(`cn=${cn},dc=a`, { cn: [cn], gidnumber: [String(100 + n)], memberuid }),
        ),
        ...broken.map((cn) => entry(`cn=${cn},dc=a`, { cn: [cn], gidnumber: ['many'] })),
      ],
    },
    { ...ldap, minimumUid: 1000 },
  );
  const settings = parseSlurmAccounts({ cluster: 'site', accounts: rules }, 'berth.yml');
  const associations = live.map(association);
  const present = new Set(associations.map(({ account }) => account));
  const ours = given.adopt === true ? present : new Set(known);
  const desired = desiredAccounts(people, settings, { present, ours });
  const plan = planAssociations({
    ...{ people, desired, keepUsers: given.keepUsers ?? [] },
    live: {
      associations,
      defaults: new Map(Object.entries(given.defaults ?? {})),
      unread: [],
    },
    memory: {
      ...{ users: 0, groups: 0, accounts: known, closed, held: given.held ?? {} },
      ...(members === undefined ? {} : { members }),
    },
  });
  return { ...plan, skipped: desired.skipped.map(({ name }) => name) };
}

function association(text: string): LiveAssociation {
  const [account = '', user = '', partition = '', maxSubmit = ''] = text.split(' ');
  const empty = { account, parent: '', user: '', partition: '', qos: [], defaultQos: '' };
  if (user === '<') return { ...empty, parent: partition, maxSubmit: undefined };
  const limit = maxSubmit === '' ? undefined : Number(maxSubmit);
  return { ...empty, user, partition: partition.replace('-', ''), maxSubmit: limit };
}

export const commands = (plan: AssociationPlan): string[] =>
  plan.steps.flatMap((step) => stepArguments(step, 'c')).map((words) => words.join(' '));

export const lab = [{ account: 'lab', groups: ['lab'] }];
