import { describe, expect, it } from 'vitest';
import { commands, lab, planned } from './planned.ts';

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
    const groups = { lab: ['-i', '4711', 'root', 'ann', 'eve@realm'] };
    const plan = planned({ groups, rules: lab, live: ['lab < root'] });
    expect(commands(plan)).toEqual([
      'add user name=ann,eve@realm cluster=c account=lab defaultaccount=lab',
    ]);
    expect(plan.skipped.toSorted()).toEqual(['-i', '4711', 'root']);
  });

  it.each(['4711', 'root', '-i'])('do not close who is in the group: %s', (name) => {
    const closed = [{ account: 'lab', user: name, partition: '', before: null }];
    const given = { groups: { lab: [name] }, rules: lab, closed, defaults: { [name]: 'lab' } };
    const live = ['lab < root', 'lab bob', `lab ${name}`];
    const close = 'modify user where name=bob cluster=c account=lab set maxsubmitjobs=0';
    expect(commands(planned({ ...given, live }))).toEqual([close]);
    expect(commands(planned({ ...given, live: [...live.slice(0, 2), `lab ${name} - 0`] }))).toEqual(
      [`modify user where name=${name} cluster=c account=lab set maxsubmitjobs=-1`, close],
    );
  });

  it('of a group cannot put an account below itself', () => {
    const rules = [
      { account: '*', groups: ['a-*'], parent: 'q' },
      { account: '*', groups: ['b-*'], parent: 'p' },
    ];
    const groups = { 'a-p': ['ann'], 'b-q': ['ann'] };
    const plan = planned({ groups: { ...groups, lab: ['bob'] }, rules: [...rules, ...lab] });
    expect(plan.skipped.toSorted()).toEqual(['p', 'q']);
    expect(commands(plan)[0]).toBe('add account name=lab cluster=c parent=root');
  });

  it.each([
    ['made by hand', {}, ['proj-lab']],
    ['of Berth', { known: ['lab'] }, []],
    ['that the admin hands over', { adopt: true }, []],
    ['of another rule', { adopt: true, rules: lab }, ['proj-lab']],
    [
      'of another pattern',
      { adopt: true, rules: [{ account: 'l*', groups: ['l*'] }] },
      ['proj-lab'],
    ],
  ])('of a group that anybody may have made, and of an account %s', (_, given, skipped) => {
    const pattern = { account: '*', groups: ['proj-*'], parent: 'all', qos: ['free'] };
    const plan = planned({
      ...{ groups: { 'proj-lab': ['eve'], lab: ['ann'], lx: [], 'proj-new': ['eve'] } },
      ...{ live: ['all < root', 'lab < root', 'lab ann'], ...given },
      rules: [...('rules' in given ? given.rules : []), pattern],
    });
    expect(plan.skipped).toEqual(skipped);
    const isTouched = commands(plan).some((line) =>
      line.includes('name=eve cluster=c account=lab'),
    );
    expect(isTouched).toBe(skipped.length === 0);
  });
});
