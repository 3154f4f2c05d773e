import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { baseDn, groupEntry, personEntry } from '../../rig/slapd.ts';
import { AccountsSite } from './accounts-site.ts';

/** Coordinator of the account p0, which sacctmgr(1) lets add users and accounts of any name there. */
const coordinator = 'sync-zoe';
const users = ['user-0', 'user-1', 'user-2', 'user-3'];

let site: AccountsSite;

beforeAll(async () => {
  site = await AccountsSite.start(
    [coordinator],
    [
      ...[coordinator, ...users].map((name, n) => personEntry(name, 20_000 + n)),
      groupEntry('proj-p0', 50_000, [coordinator]),
      groupEntry('proj-p1', 50_001, ['user-0', 'user-1', 'user-2']),
    ],
    ['add qos long'],
  );
  await site.configure({ accounts: [{ account: '*', groups: ['proj-*'] }] });
  await site.synced();
  await site.sacctmgr('add', 'coordinator', 'account=p0', `name=${coordinator}`);
});
afterAll(() => site.stop());

const added = (name: string, ...more: readonly string[]): Promise<string> => {
  const words = ['sacctmgr', '-i', 'add', 'user', `name=${name}`, 'cluster=site', 'account=p0'];
  return site.root(['runuser', '-u', coordinator, '--', ...words, ...more]);
};
const setMembers = (...names: readonly string[]): Promise<void> =>
  site.slapd.replace(`cn=proj-p1,ou=groups,${baseDn}`, 'memberUid', ...names);

describe('whoever coordinates an account', () => {
  it.each([
    ['a user', 'x||||\np1||user-3||||0\np0||y', []],
    ['a partition', coordinator, ['partition=|||\np1||user-3||||0\np0||y|']],
  ])('makes no rows of another account by the name of %s', async (_, name, more) => {
    await added(name, ...more);
    await setMembers(...users);
    const before = await site.transactions();

    const { exitCode, stderr } = await site.sync('--yes');

    expect(stderr).toMatch(/sacctmgr printed "p0\|.*\[slurm-accounts-unreadable\]/);
    expect(exitCode).toBe(75);
    expect(await site.transactions()).toBe(before);

    await site.sacctmgr('delete', 'user', `name=${name}`, ...more);
    expect((await site.synced()).commands).toHaveLength(1);
    await setMembers('user-0', 'user-1', 'user-2');
    await site.synced();
  });

  it('keeps nobody open by users of their own', async () => {
    const own = Array.from({ length: 30 }, (_, n) => `own-${n}`);
    await added(own.join(','));
    await setMembers('user-0', 'user-1');

    await site.synced();

    expect(await site.associations('account=p1', 'user=user-2')).toEqual(['p1||user-2|0']);
    expect(await site.associations('account=p0', `user=${own.join(',')}`)).toEqual(
      own.map((name) => `p0||${name}|0`).sort(),
    );
  });
});
