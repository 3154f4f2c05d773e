import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitFor } from '../../rig/wait-for.ts';
import { baseDn, groupEntry, personEntry } from '../../rig/slapd.ts';
import { startSlurmdbd } from '../../rig/slurm/accounting.ts';
import { AccountsSite } from './accounts-site.ts';

/** They submit jobs. */
const ann = 'sync-ann';
const bob = 'sync-bob';

const projects = 5;
const people = 300;
const membersOf = (project: number): string[] =>
  Array.from({ length: people / projects }, (_, n) => `user-${project + projects * n}`);
const groupDn = (name: string): string => `cn=${name},ou=groups,${baseDn}`;

const accounts = [
  { account: 'science' },
  {
    ...{ account: 'physics', groups: ['phys'], parent: 'science' },
    ...{ qos: ['normal', 'long'], default_qos: 'long' },
  },
  { account: '*', groups: ['proj-*'], parent: 'science' },
];

describe('berth slurm-sync with slurmdbd and a directory', () => {
  let site: AccountsSite;

  beforeAll(async () => {
    site = await AccountsSite.start(
      [ann, bob],
      [
        ...Array.from({ length: people }, (_, n) => personEntry(`user-${n}`, 20_000 + n)),
        ...[ann, bob].map((name, n) => personEntry(name, 30_000 + n)),
        groupEntry('phys', 40_000, [ann, bob, 'user-1']),
        groupEntry('chem', 40_001, [ann]),
        ...Array.from({ length: projects }, (_, n) =>
          groupEntry(`proj-p${n}`, 50_000 + n, membersOf(n)),
        ),
      ],
      ['add qos long'],
    );
    await site.configure({ accounts });
  });
  afterAll(() => site.stop());

  const setMembers = (group: string, ...names: readonly string[]): Promise<void> =>
    site.slapd.replace(groupDn(group), 'memberUid', ...names);
  const submit = async (user: string): Promise<string> =>
    site.slurm.slurm.sbatch(user, '#!/bin/sh\nexec sleep 600\n', ['--mem=50']);

  it('shows the plan first, and changes nothing without a word', async () => {
    const before = await site.transactions();

    const dryRun = await site.sync('--dry-run');
    const unasked = await site.sync();

    expect(dryRun.stderr).toContain('dry run: nothing was changed');
    const plan = dryRun.stdout.toString();
    expect(plan).toContain('sacctmgr -i add account name=science cluster=site parent=root');
    expect(plan).toMatch(
      /^sacctmgr -i add user name=\S+ cluster=site account=physics defaultaccount=physics$/m,
    );
    expect([unasked.exitCode, unasked.stdout.toString()]).toEqual([1, plan]);
    expect(unasked.stderr).toContain('nothing was changed: only --yes');
    expect(await site.transactions()).toBe(before);
  });

  it('makes accounts with their parents and QOS, users, and their default accounts', async () => {
    await site.synced();

    const all = await site.associations();
    expect(all).toEqual(expect.arrayContaining(['science|root||', 'physics|science||']));
    expect(all.filter((line) => line.startsWith('p4|'))).toEqual(
      ['p4|science||', ...membersOf(4).map((user) => `p4||${user}|`)].sort(),
    );
    expect(all.filter((line) => line.startsWith('chem'))).toEqual([]);
    expect(all.filter((line) => line.includes('|user-1|'))).toEqual([
      ...['p1||user-1|', 'physics||user-1|'],
    ]);
    const defaults = await site.defaults();
    expect([ann, 'user-1', 'user-4'].map((user) => defaults[user])).toEqual([
      ...['physics', 'physics', 'p4'],
    ]);
    const [qos] = await site.list(
      'associations',
      'account=physics',
      'user=',
      'format=QOS,DefaultQOS',
    );
    expect(qos).toBe('long,normal|long');
  });

  it('asks for the lists only when nothing has changed', async () => {
    const before = await site.transactions();
    const report = await site.synced('--textfile', '/run/slurm.prom');
    expect(report).toMatchObject({ commands: [], done: 0, kept: [] });
    expect(await site.transactions()).toBe(before);
    const metrics = await site.root(['cat', '/run/slurm.prom']);
    expect(metrics).toMatch(/^berth_slurm_sync_success\{cluster="site"\} 1$/m);
    expect(metrics).toMatch(
      /^berth_slurm_sync_last_success_timestamp_seconds\{cluster="site"\} \d+$/m,
    );
    expect(metrics).toMatch(
      new RegExp(`^berth_slurm_sync_users\\{cluster="site"\\} ${people + 2}$`, 'm'),
    );
    expect(metrics).toMatch(/^berth_slurm_sync_new_associations\{cluster="site"\} 0$/m);
  });

  it('changes the default account before it closes one, and takes another case for the same person', async () => {
    await setMembers('proj-p2', ...membersOf(2).filter((user) => user !== 'user-2'));
    await setMembers('proj-p3', ...membersOf(3), 'USER-2');

    const { commands } = await site.synced();

    expect(commands.map((words) => words.join(' '))).toEqual([
      'add user name=user-2 cluster=site account=p3',
      'modify user where name=user-2 cluster=site set defaultaccount=p3',
      'modify user where name=user-2 cluster=site account=p2 set maxsubmitjobs=0',
    ]);
    expect(await site.associations('user=user-2')).toEqual(['p2||user-2|0', 'p3||user-2|']);
    expect((await site.defaults())['user-2']).toBe('p3');
  });

  it('leaves a job of somebody who has left, takes no other one, and lets in who is back', async () => {
    const job = await submit(ann);
    await site.slurm.slurm.waitForState(job, 'RUNNING');
    await site.sacctmgr(
      ...`modify user where name=${ann} account=physics set maxsubmitjobs=7`.split(' '),
    );
    await site.sacctmgr(
      ...`modify user where name=${bob} account=physics set maxsubmitjobs=0`.split(' '),
    );
    await setMembers('phys', 'user-1');
    await site.synced();

    expect(await site.slurm.slurm.field(job, 'JobState')).toBe('RUNNING');
    expect(await site.associations(`user=${ann},${bob}`)).toEqual([
      ...[`physics||${ann}|0`, `physics||${bob}|0`],
    ]);
    await expect(submit(ann)).rejects.toThrow(/AssocMaxSubmitJobLimit|job submit limit/);

    await setMembers('phys', 'user-1', ann, bob);
    const { kept } = await site.synced();
    expect(await site.associations(`user=${ann},${bob}`)).toEqual([
      ...[`physics||${ann}|7`, `physics||${bob}|0`],
    ]);
    expect(kept).toEqual([
      { account: 'physics', user: bob, reason: 'MaxSubmitJobs=0 was not set by Berth' },
    ]);
    await site.slurm.slurm.as(ann, ['scancel', job, await submit(ann)]);
  });

  it.each([
    [
      'far fewer users',
      { users: { filter: '(|(uid=user-1*)(uid=sync-*))' } },
      69,
      'too-few-entries',
    ],
    ['far fewer groups', { groups: { filter: '(|(cn=phys)(cn=proj-p1))' } }, 69, 'too-few-entries'],
    ['nobody', { users: { filter: '(uid=nobody)' } }, 78, 'no-users'],
    ['no answer', { url: 'ldap://127.0.0.1:1' }, 75, 'unreachable'],
  ])('changes nothing if the directory has %s', async (_, ldap, exit, code) => {
    const before = await site.transactions();
    await site.configure({ accounts }, ldap);
    const { exitCode, stdout, stderr } = await site.sync('--yes', '--textfile', '/run/slurm.prom');
    await site.configure({ accounts });
    expect([exitCode, stdout.toString()]).toEqual([exit, '']);
    const metrics = await site.root(['cat', '/run/slurm.prom']);
    expect(metrics).toMatch(/^berth_slurm_sync_success\{cluster="site"\} 0$/m);
    expect(metrics).toMatch(
      /^berth_slurm_sync_last_success_timestamp_seconds\{cluster="site"\} \d+$/m,
    );
    expect(stderr).toContain(`[ldap-${code}]`);
    expect(await site.transactions()).toBe(before);
  });

  it('leaves out names that would be something else to sacctmgr or a shell', async () => {
    const groups = ['proj-a,b', 'proj-x=y', 'proj-"q"', 'proj-two words', 'proj--i', 'proj-root'];
    groups.push('proj-new\nline', "proj-'", 'proj-$(id)');
    const names = ['-i', '4711'];
    await site.slapd.add(
      ...names.map((name, n) => personEntry(name, 60_000 + n)),
      ...groups.map((name, n) => groupEntry(name, 61_000 + n, ['user-4'])),
    );
    await setMembers('proj-p4', ...membersOf(4), ...names);
    const before = await site.associations();

    const { commands, skipped } = await site.synced();

    expect(commands).toEqual([]);
    expect(skipped.map(({ name }) => name).sort()).toEqual([...groups, ...names].sort());
    expect(await site.associations()).toEqual(before);
    const { stderr } = await site.sync('--yes');
    expect(stderr).toContain('berth: user -i is left out');
    expect(stderr).toContain('berth: group proj-new\\nline is left out');
    await setMembers('proj-p4', ...membersOf(4));
    for (const name of groups) await site.slapd.delete(groupDn(escaped(name)));
    await site.synced('--accept-fewer');
  });

  it('leaves open who is in the group, by whatever name, and skips what is not its own by name', async () => {
    const realm = 'fay@site.test';
    await site.slapd.add(...[realm, '4712'].map((name, n) => personEntry(name, 62_000 + n)));
    await setMembers('proj-p4', ...membersOf(4), realm, '4712');
    await site.sacctmgr(...'add user name=4712 cluster=site account=p4'.split(' '));
    await site.sacctmgr('add', 'account', 'name=two words', 'cluster=site');

    const { commands, skipped } = await site.synced();

    expect(commands.map((words) => words.join(' '))).toEqual([
      `add user name=${realm} cluster=site account=p4 defaultaccount=p4`,
    ]);
    expect(skipped.map(({ name }) => name)).toEqual(['4712', 'two words|root|||||']);
    expect(await site.associations(`user=4712,${realm}`)).toEqual([
      ...['p4||4712|', `p4||${realm}|`],
    ]);

    await setMembers('proj-p4', ...membersOf(4));
    for (const name of ['4712', realm]) await site.slapd.delete(`uid=${name},ou=people,${baseDn}`);
    await site.synced();
    expect(await site.associations(`user=4712,${realm}`)).toEqual([
      ...['p4||4712|0', `p4||${realm}|0`],
    ]);
    await site.sacctmgr('delete', 'account', 'name=two words', 'cluster=site');
  });

  it('takes no account that was made by hand for one of a pattern, until the admin says so', async () => {
    await site.sacctmgr(...'add account name=hand cluster=site parent=root'.split(' '));
    await site.sacctmgr(...'add user name=user-9 cluster=site account=hand'.split(' '));
    await site.slapd.add(groupEntry('proj-hand', 54_000, ['user-4']));
    const before = await site.associations();

    const { commands, skipped } = await site.synced();
    expect(commands).toEqual([]);
    expect(skipped[0]?.reason).toContain('account hand was not made by Berth');
    expect(await site.associations()).toEqual(before);

    await site.synced('--adopt');
    await site.synced();
    expect(await site.associations('account=hand')).toEqual([
      ...['hand|science||', 'hand||user-4|', 'hand||user-9|0'],
    ]);
    await site.slapd.delete(groupDn('proj-hand'));
    await site.synced();
  });

  it('closes who has left although somebody wrote the name into a cn, after a day of runs', async () => {
    const left = 'sync-left';
    await site.slapd.add(personEntry(left, 63_000));
    await setMembers('proj-p2', ...membersOf(2), left);
    await site.synced();
    await site.slapd.replace(`uid=user-8,ou=people,${baseDn}`, 'cn', left);
    await site.slapd.delete(`uid=${left},ou=people,${baseDn}`);
    await setMembers('proj-p2', ...membersOf(2));

    const { kept } = await site.synced();
    expect(kept.find(({ user }) => user === left)?.reason).toContain('alone: this is run 1 of 96');
    expect(await site.associations(`user=${left}`)).toEqual([`p2||${left}|`]);

    const memory = `${site.slurm.login.directory}/slurm-sync-state/slurm-sync/site.json`;
    await site.root(['sed', '-i', `s/"${left}":1/"${left}":96/`, memory]);
    await site.synced();
    expect(await site.associations(`user=${left}`)).toEqual([`p2||${left}|0`]);
  });

  it('of two runs at once, one does the work', async () => {
    await site.slapd.add(groupEntry('proj-twice', 52_000, ['user-6', 'user-8']));
    const both = await Promise.all([site.synced(), site.synced()]);
    expect(both.map(({ done }) => done).sort()).toEqual([0, 2]);
    expect(await site.associations('account=twice')).toEqual([
      ...['twice|science||', 'twice||user-6|', 'twice||user-8|'],
    ]);
  });

  it('goes on where slurmdbd has ended', async () => {
    const names = ['n0', 'n1', 'n2', 'n3', 'n4'];
    await site.slapd.add(
      ...names.map((name, n) => groupEntry(`proj-${name}`, 53_000 + n, membersOf(n))),
    );
    const running = site.sync('--yes');
    await waitFor({ what: 'the first users', timeoutMs: 60_000, everyMs: 20 }, async () =>
      (await site.associations('account=n0')).length > 1 ? true : undefined,
    );
    await site.root(['pkill', '-KILL', '-x', 'slurmdbd']);
    const { exitCode, stdout, stderr } = await running;
    expect([exitCode, stdout.toString()]).toEqual([
      75,
      expect.stringMatching(/^site: [1-5] of 6 commands done$/m),
    ]);
    expect(stderr).toContain('[slurm-accounts-failed]');
    const away = await site.sync('--yes');
    expect([away.exitCode, away.stderr]).toEqual([
      75,
      expect.stringContaining('[slurm-accounts-unreadable]'),
    ]);

    await startSlurmdbd(site.slurm);
    expect((await site.associations('account=n0')).length).toBe(1 + membersOf(0).length);
    const { commands, done } = await site.synced();
    expect(done).toBe(commands.length);
    expect(commands.length).toBeLessThan(6);
    expect(await site.associations(`account=${names.join(',')}`)).toEqual(
      names
        .flatMap((name, n) => [
          `${name}|science||`,
          ...membersOf(n).map((user) => `${name}||${user}|`),
        ])
        .sort(),
    );
  });
});

/** A value of a DN: what RFC 4514 escapes, in hexadecimal. */
function escaped(value: string): string {
  return value.replaceAll(/[,="\n]/g, (one) => `\\${Buffer.from(one).toString('hex')}`);
}
