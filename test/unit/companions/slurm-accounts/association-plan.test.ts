import { describe, expect, it } from 'vitest';
import { assertEnoughEntries } from '../../../../src/directory/rules/refuse-shrunken-directory.ts';
import { closedMeanwhile } from '../../../../src/companions/slurm-accounts/rules/association-plan.ts';
import { commands, lab, planned } from './planned.ts';

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
      ...{ live: ['a < root', 'a ann', 'b < root', 'b ann - 0'], known: ['a', 'b'] },
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

  it('is closed after a bounded number of runs if only a cn of somebody else has the name', () => {
    const given = { groups: { lab: ['ann'] }, people: ['ann', 'eve'], rules: lab, live };
    const run = (held: number) =>
      planned({ ...given, cn: { eve: 'bob' }, held: { bob: held }, defaults: { ann: 'lab' } });
    expect([commands(run(95)), run(95).memory.held]).toEqual([[], { bob: 96 }]);
    expect(run(95).kept[0]?.reason).toContain('run 96 of 96, after which bob counts as missing');
    expect(commands(run(96))).toEqual([
      'modify user where name=bob cluster=c account=lab set maxsubmitjobs=0',
    ]);
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

describe('the number of those who have left', () => {
  const own = Array.from({ length: 30 }, (_, n) => `own-${n}`);
  const strangers = ['lab < root', 'lab ann', 'lab bob', ...own.map((name) => `lab ${name}`)];
  const given = { groups: { lab: ['ann'] }, people: ['ann'], rules: lab, live: strangers };
  const members = ['lab|ann', 'lab|bob'];

  it('has none whom a coordinator of the account has added', () => {
    const plan = planned({ ...given, known: ['lab'], members });
    expect(plan.losses).toMatchObject({ losses: 1, active: 2 });
    expect(commands(plan).at(-1)).toContain(`name=bob,${own.join(',')} `);
    expect(plan.memory.members).toEqual(['lab|ann']);
  });

  it.each([
    ['without what the last run knew', { known: ['lab'] }],
    ['in an account that was not one of groups', { known: ['other'], members }],
  ])('has all %s', (_, before) => {
    expect(planned({ ...given, ...before }).losses).toMatchObject({ losses: 31, active: 32 });
  });

  it('has those who stayed open in a run that did not find their group', () => {
    const groups = { other: ['ann'] };
    const kept = planned({ ...given, groups, known: ['lab'], members });
    expect([commands(kept), kept.memory.members]).toEqual([[], ['lab|ann', 'lab|bob']]);
  });
});

it('refuses a parent that is nowhere', () => {
  const rules = [{ account: 'lab', parent: 'typo' }];
  expect(() => planned({ groups: {}, rules })).toThrow(
    'account lab: its parent typo does not exist',
  );
});
