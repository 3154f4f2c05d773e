import { afterAll, beforeAll, expect, it } from 'vitest';
import { groupEntry, personEntry } from '../../rig/slapd.ts';
import { AccountsSite } from './accounts-site.ts';

const users = ['user-0', 'user-1', 'user-2', 'user-3'];
const accounts = { account: '*', groups: ['proj-*'] };

let site: AccountsSite;

beforeAll(async () => {
  site = await AccountsSite.start(
    ['sync-zoe'],
    [
      ...users.map((name, n) => personEntry(name, 20_000 + n)),
      ...users.map((name, n) => groupEntry(`proj-p${n}`, 50_000 + n, [name])),
    ],
    ['add qos long'],
  );
  await site.configure({ accounts: [accounts] });
  await site.synced();
});
afterAll(() => site.stop());

it('changes the others of a command that slurmdbd refuses for one name, and says which', async () => {
  // By hand: in one account a user may not have the QOS that is to be the default there.
  const byHand = 'modify user where name=user-1 account=p1 cluster=site set'.split(' ');
  await site.sacctmgr(...byHand, 'qos=normal');
  const qosOfAll = { qos: ['normal', 'long'], default_qos: 'long' };
  await site.configure({ accounts: [{ ...accounts, ...qosOfAll }, { account: 'new' }] });
  const qos = (account: string): Promise<string[]> =>
    site.list('associations', 'wopl', `account=${account}`, 'user=', 'format=QOS');

  const { exitCode, stdout, stderr } = await site.sync('--yes', '--textfile', '/run/slurm.prom');

  expect(stderr).toMatch(/sacctmgr modify account where name=p1 .*\[slurm-accounts-failed\]/);
  expect(stdout.toString()).toMatch(/^site: 1 of 2 commands done$/m);
  expect(exitCode).toBe(75);
  expect([await qos('p1'), await qos('p0'), await qos('p3')]).toEqual([
    ...[[], ['long,normal'], ['long,normal']],
  ]);
  expect(await site.associations('account=new')).toEqual(['new|root||']);
  expect(await site.root(['cat', '/run/slurm.prom'])).toMatch(
    /^berth_slurm_sync_success\{cluster="site"\} 0$/m,
  );

  await site.sacctmgr(...byHand, 'qos=normal,long');
  expect((await site.synced()).commands).toHaveLength(1);
  expect(await qos('p1')).toEqual(['long,normal']);
});
