import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { beforeAll, describe, expect, it } from 'vitest';
import { lookupUser } from '../../../src/system/identity/nss.ts';
import { asRoot, asUser } from '../../../src/system/as-user.ts';
import { ensureAccount, type Account } from '../../rig/site/accounts.ts';

const isRoot = process.getuid?.() === 0;
const run = (command: string, ...args: string[]): string =>
  execFileSync(command, args, { encoding: 'utf8' }).trim();

describe.runIf(isRoot)('an account, looked up by root (as root)', () => {
  let account: Account;
  let digits: Account;
  beforeAll(async () => {
    account = await ensureAccount('berth.nss-1', { groups: ['berthnss1', 'berthnss2'] });
    digits = await ensureAccount('64322');
  });

  it('is what getent and id say, group by group', () => {
    const user = lookupUser(account.name, { minimumUid: 1000 });
    const groups = run('id', '-G', account.name).split(' ').map(Number);
    expect(user).toEqual({
      name: account.name,
      uid: account.uid,
      gid: Number(run('id', '-g', account.name)),
      groups: groups.sort((a, b) => a - b),
      home: account.home,
      shell: '/bin/bash',
    });
    expect(user.groups).toHaveLength(3);
  });

  it("never has root's group, nor does any system account that is not in it", () => {
    let compared = 0;
    for (const line of readFileSync('/etc/passwd', 'utf8').trim().split('\n')) {
      const [name = '', , uid] = line.split(':');
      if (Number(uid) >= 1000 || run('id', '-nu', String(uid)) !== name) continue;
      const groups = run('id', '-G', name).split(' ').map(Number);
      expect(lookupUser(name, { minimumUid: 0 }).groups, name).toEqual(
        [...new Set(groups)].sort((a, b) => a - b),
      );
      compared += 1;
    }
    expect(compared).toBeGreaterThan(5);
  });

  it('is found by a name of digits, and never by its UID', () => {
    expect(lookupUser(digits.name, { minimumUid: 1000 }).uid).toBe(digits.uid);
    expect(() => lookupUser(String(digits.uid), { minimumUid: 1000 })).toThrow(
      expect.objectContaining({ code: 'user-unknown' }),
    );
  });

  it('leaves the process as it was, found or not', () => {
    const identity = (): unknown => [
      process.geteuid?.(),
      process.getegid?.(),
      process.getgroups?.(),
    ];
    const before = identity();
    lookupUser(account.name, { minimumUid: 1000 });
    expect(identity()).toEqual(before);
    expect(() => lookupUser('berth.nobody-of-that-name', { minimumUid: 0 })).toThrow();
    expect(identity()).toEqual(before);
  });

  it('is not looked up during a section for a user', async () => {
    await expect(
      asUser({ ...account, groups: [account.gid] }, () =>
        Promise.resolve(lookupUser(account.name, { minimumUid: 1000 })),
      ),
    ).rejects.toMatchObject({ code: 'not-root' });
    await asRoot(() => undefined);
  });

  it('is refused below the minimum UID, and when nobody has the name', () => {
    expect(() => lookupUser('daemon', { minimumUid: 1000 })).toThrow(
      expect.objectContaining({ code: 'uid-below-minimum', exitCode: 77 }),
    );
    expect(() => lookupUser('berth.nobody-of-that-name', { minimumUid: 1000 })).toThrow(
      expect.objectContaining({ code: 'user-unknown', exitCode: 67 }),
    );
  });

  it('is refused when another account has the same UID and comes first', () => {
    run('useradd', '--badname', '-M', '-o', '-u', String(account.uid), '-N', 'berth.nss-2');
    try {
      expect(() => lookupUser('berth.nss-2', { minimumUid: 1000 })).toThrow(
        expect.objectContaining({ code: 'user-name-not-canonical' }),
      );
    } finally {
      run('userdel', 'berth.nss-2');
    }
  });
});

describe('one who is not root', () => {
  it('looks up and works for oneself only', () => {
    const script = new URL('without-root.ts', import.meta.url).pathname;
    const uid = isRoot ? 65_534 : userInfo().uid;
    const result = JSON.parse(run(process.execPath, script, String(uid))) as unknown;
    expect(result).toMatchObject({
      self: { uid },
      root: 'not-root',
      ownFiles: 'done',
      foreignFiles: 'not-root',
    });
  });
});
