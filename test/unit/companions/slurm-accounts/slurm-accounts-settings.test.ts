import { describe, expect, it } from 'vitest';
import { parseSlurmAccounts } from '../../../../src/companions/slurm-accounts/rules/slurm-accounts-settings.ts';

const parsed = (...accounts: object[]) =>
  parseSlurmAccounts({ cluster: 'site', accounts }, 'berth.yml');

describe('slurm_accounts', () => {
  it.each<[string, ...object[]]>([
    ['account must be the name of an account', { account: 'A' }],
    ['account must be the name of an account', { account: '-i' }],
    ['account must be the name of an account', { account: 'a,b' }],
    ['account must be the name of an account', { account: 'p*r*' }],
    ["account must not be root: it is Slurm's own", { account: 'root' }],
    ['groups.1 must have at most one `*`', { account: 'a', groups: ['*x*'] }],
    ['groups must name groups with a `*`', { account: 'p-*', groups: ['x'] }],
    ['groups must name groups with a `*`', { account: 'p-*' }],
    ['default_qos must be one of `qos`', { account: 'a', qos: ['b'], default_qos: 'c' }],
    ['qos.1 must have lower-case letters', { account: 'a', qos: ['b,c'] }],
    ['parent must not be below the account itself', { account: 'a', parent: 'a' }],
    ['parent must not be', { account: 'a', parent: 'b' }, { account: 'b', parent: 'a' }],
    ['unknown', { account: 'a', group: ['x'] }],
  ])('says what is wrong: %s', (message, ...rules) => {
    expect(() => parsed(...rules)).toThrow(message);
  });

  it('leaves as it is what is not said', () => {
    expect(parsed({ account: 'a', groups: ['x'] }).accounts).toEqual([
      { account: 'a', groups: ['x'], parent: undefined, qos: [], defaultQos: undefined },
    ]);
  });
});
