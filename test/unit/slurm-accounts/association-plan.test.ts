import { describe, expect, it } from 'vitest';
import { parseSlurmAccounts } from '../../../src/config/schema/slurm-accounts-settings.ts';
import { parseLdap } from '../../../src/config/schema/ldap-settings.ts';
import { assertEnoughEntries } from '../../../src/directory/rules/enough-entries.ts';
import { ldapUsersOf } from '../../../src/directory/rules/ldap-users.ts';
import type { LdapEntry } from '../../../src/directory/rules/possible-people.ts';
import {
  type AssociationPlan,
  closedMeanwhile,
  type LiveAssociation,
  planAssociations,
  type SyncMemory,
} from '../../../src/slurm-accounts/rules/association-plan.ts';
import { desiredAccounts } from '../../../src/slurm-accounts/rules/desired-accounts.ts';
import { stepArguments } from '../../../src/slurm-accounts/rules/sacctmgr-argv.ts';

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
  /** Groups with an entry that is not accepted. */
  readonly broken?: readonly string[];
}

function entry(dn: string, values: Readonly<Record<string, readonly string[]>>): LdapEntry {
  return { dn, values: new Map(Object.entries(values)) };
}

function planned(given: Given): AssociationPlan & { readonly skipped: readonly string[] } {
  const { groups, rules, live = [], closed = [], known = [], broken = [] } = given;
  const names = given.people ?? [...new Set(Object.values(groups).flat())];
  const people = ldapUsersOf(
    {
      url: '',
      users: names.map((name, n) =>
        entry(`uid=${name},dc=a`, { uid: [name], uidnumber: [String(2000 + n)], gidnumber: ['9'] }),
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
  const desired = desiredAccounts(people, settings);
  const plan = planAssociations({
    ...{ people, desired, keepUsers: given.keepUsers ?? [] },
    live: {
      associations: live.map(association),
      defaults: new Map(Object.entries(given.defaults ?? {})),
    },
    memory: { users: 0, groups: 0, accounts: known, closed },
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

const commands = (plan: AssociationPlan): string[] =>
  plan.steps.flatMap((step) => stepArguments(step, 'c')).map((words) => words.join(' '));

const lab = [{ account: 'lab', groups: ['lab'] }];

describe('the order that slurmdbd needs', () => {
  it('has parents first, whatever the order of the rules', () => {
    const rules = [
      { account: 'leaf', parent: 'branch' },
      { account: 'branch', parent: 'tree' },
      { account: 'tree' },
    ];
    const plan = planned({ groups: {}, rules, live: ['leaf < root'] });
    expect(commands(plan)).toEqual([
      'add account name=tree cluster=c parent=root',
      'add account name=branch cluster=c parent=tree',
      'modify account where name=leaf cluster=c set parent=branch',
    ]);
  });

  it('changes a default account before it closes it, and opens before that', () => {
    const plan = planned({
      ...{ groups: { a: [], b: ['ann'], c: ['ann'] }, people: ['ann'] },
      rules: [{ account: '*', groups: ['*'] }],
      live: ['a < root', 'a ann', 'b < root', 'b ann - 0'],
      ...{
        defaults: { ann: 'a' },
        closed: [{ account: 'b', user: 'ann', partition: '', before: 5 }],
      },
    });
    expect(commands(plan)).toEqual([
      'add account name=c cluster=c parent=root',
      'add user name=ann cluster=c account=c',
      'modify user where name=ann cluster=c account=b set maxsubmitjobs=5',
      'modify user where name=ann cluster=c set defaultaccount=b',
      'modify user where name=ann cluster=c account=a set maxsubmitjobs=0',
    ]);
  });

  it('adds new users to their default account first', () => {
    const rules = [
      { account: 'second', groups: ['x'] },
      { account: 'first', groups: ['y'] },
    ];
    const plan = planned({
      ...{ groups: { x: ['bob'], y: ['ann', 'bob'] }, rules },
      live: ['first < root', 'second < root'],
    });
    expect(commands(plan)).toEqual([
      'add user name=bob cluster=c account=second defaultaccount=second',
      'add user name=ann cluster=c account=first defaultaccount=first',
      'add user name=bob cluster=c account=first',
    ]);
  });
});

describe('who has left', () => {
  const live = ['lab < root', 'lab ann', 'lab bob'];

  it('is closed, with the limit before in mind', () => {
    const plan = planned({
      ...{ groups: { lab: ['ann'] }, rules: lab, defaults: { ann: 'lab', bob: 'lab' } },
      live: [...live, 'lab bob gpu 3'],
    });
    expect(commands(plan)).toEqual([
      'modify user where name=bob cluster=c account=lab set maxsubmitjobs=0',
    ]);
    expect(plan.memory.closed).toEqual([
      { account: 'lab', user: 'bob', partition: '', before: null },
      { account: 'lab', user: 'bob', partition: 'gpu', before: 3 },
    ]);
  });

  it('stays closed, and is still known as closed', () => {
    const closed = [{ account: 'lab', user: 'bob', partition: '', before: 4 }];
    const plan = planned({
      ...{ groups: { lab: ['ann'] }, rules: lab, defaults: { ann: 'lab' }, closed },
      live: ['lab < root', 'lab ann', 'lab bob - 0'],
    });
    expect([commands(plan), plan.memory.closed]).toEqual([[], closed]);
  });

  it('is opened again in each partition, and only if Berth closed it', () => {
    const closed = [
      { account: 'lab', user: 'bob', partition: 'gpu', before: 3 },
      { account: 'lab', user: 'bob', partition: '', before: null },
    ];
    const plan = planned({
      ...{ groups: { lab: ['ann', 'bob'] }, rules: lab, closed },
      ...{ defaults: { ann: 'lab', bob: 'lab' } },
      live: ['lab < root', 'lab ann - 0', 'lab bob gpu 0', 'lab bob - 0'],
    });
    expect(commands(plan)).toEqual([
      'modify user where name=bob cluster=c account=lab set maxsubmitjobs=-1',
      'modify user where name=bob cluster=c account=lab partition=gpu set maxsubmitjobs=3',
    ]);
    expect(plan.kept).toEqual([expect.objectContaining({ account: 'lab', user: 'ann' })]);
    expect(plan.memory.closed).toEqual([]);
  });

  it('is not whoever somebody has opened meanwhile', () => {
    const closed = [{ account: 'lab', user: 'bob', partition: '', before: 4 }];
    const plan = planned({
      ...{ groups: { lab: ['ann', 'bob'] }, rules: lab, live, closed },
      defaults: { ann: 'lab', bob: 'lab' },
    });
    expect([commands(plan), plan.memory.closed]).toEqual([[], []]);
    expect(closedMeanwhile(closed, [{ ...closed[0], before: 9 } as never])).toEqual([
      expect.objectContaining({ before: 9 }),
    ]);
  });

  it('is still there under another name: nothing is closed', () => {
    const plan = planned({
      ...{ groups: { lab: ['ann'] }, people: ['ann', 'bob@site.test'], rules: lab, live },
      defaults: { ann: 'lab', bob: 'lab' },
    });
    expect(commands(plan)).toEqual([]);
    expect(plan.kept[0]?.reason).toContain('bob may be uid=bob@site.test');
  });

  it.each([
    ['the group is not in the directory', { groups: { other: ['ann'] } }, 'not in the directory'],
    ['its entry is not accepted', { groups: { other: ['ann'] }, broken: ['lab'] }, 'gidNumber'],
  ])('is nobody if %s', (_, given, reason) => {
    const plan = planned({ ...given, people: ['ann', 'bob'], rules: lab, live });
    expect(commands(plan)).toEqual([]);
    expect(plan.kept.map((one) => one.reason.includes(reason))).toEqual([true, true]);
  });

  it('is everybody of a group of a pattern that was deleted', () => {
    const rules = [{ account: '*', groups: ['proj-*'] }];
    const given = { groups: { other: ['ann', 'bob'] }, rules, live };
    expect(commands(planned(given))).toEqual([]);
    expect(commands(planned({ ...given, known: ['lab'] }))).toEqual([
      'modify user where name=ann,bob cluster=c account=lab set maxsubmitjobs=0',
    ]);
  });

  it('is nobody of keep_users, of other accounts, and of accounts without groups', () => {
    const rules = [{ account: 'lab', groups: ['lab'] }, { account: 'free' }];
    const plan = planned({
      ...{ groups: { lab: ['ann'] }, rules, keepUsers: ['svc'], known: ['free'] },
      ...{ live: ['lab < root', 'lab ann', 'lab svc', 'free < root', 'free x', 'root root'] },
      defaults: { ann: 'lab' },
    });
    expect([commands(plan), plan.losses.losses]).toEqual([[], 0]);
  });
});

describe('names', () => {
  it('in another case are the same person, in lower case for Slurm', () => {
    const plan = planned({
      ...{ groups: { Lab: ['JSmith', 'Bob'] }, rules: lab, defaults: { jsmith: 'lab' } },
      live: ['lab < root', 'lab jsmith'],
    });
    expect(commands(plan)).toEqual(['add user name=bob cluster=c account=lab defaultaccount=lab']);
  });

  it.each([
    'a,b',
    'x=y',
    '"',
    "'",
    'a b',
    'a\nb',
    '-i',
    'ünder',
    '',
    'root',
    '$(id)',
    'a|b',
    '../x',
  ])('that Slurm would read otherwise are left out: proj-%j', (part) => {
    const rules = [{ account: '*', groups: ['proj-*'] }];
    const plan = planned({ groups: { [`proj-${part}`]: ['ann'] }, rules });
    expect(plan.steps).toEqual([]);
    expect(plan.skipped).toEqual(part === '' ? [] : [`proj-${part}`]);
  });

  it('of users too: options, UIDs, realms and root', () => {
    const groups = { lab: ['-i', '4711', 'eve@realm', 'root', 'ann'] };
    const plan = planned({ groups, rules: lab, live: ['lab < root'] });
    expect(commands(plan)).toEqual(['add user name=ann cluster=c account=lab defaultaccount=lab']);
    expect(plan.skipped.toSorted()).toEqual(['-i', '4711', 'eve@realm', 'root']);
  });

  it('of a group cannot put an account below itself', () => {
    const rules = [
      { account: '*', groups: ['a-*'], parent: 'q' },
      { account: '*', groups: ['b-*'], parent: 'p' },
    ];
    const groups = { 'a-p': ['ann'], 'b-q': ['ann'] };
    expect(() => planned({ groups, rules })).toThrow('would be below itself');
  });
});

it('refuses a plan that takes from more than a few and more than keep_percent allows', () => {
  const members = Array.from({ length: 30 }, (_, n) => `u${n}`);
  const live = ['lab < root', ...members.map((name) => `lab ${name}`)];
  const check = (left: number): void => {
    const plan = planned({
      ...{ groups: { lab: members.slice(left) }, people: members, rules: lab, live },
    });
    const people = { users: new Map(members.map((name) => [name, 0])), groupNames: ['lab'] };
    assertEnoughEntries(people as never, {}, plan.losses, 80);
  };
  expect(() => check(6)).not.toThrow();
  expect(() => check(7)).toThrow('of 7 of 30 associations');
});

it('refuses a parent that is nowhere', () => {
  const rules = [{ account: 'lab', parent: 'typo' }];
  expect(() => planned({ groups: {}, rules })).toThrow('account lab cannot be below typo');
});
