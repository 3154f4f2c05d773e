import { chmod, chown, mkdir } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EtcDirectory } from './etc-directory.ts';

const isRoot = process.getuid?.() === 0;
let etc: EtcDirectory;

beforeEach(async () => {
  etc = await EtcDirectory.make([
    { name: 'alice', uid: 1000 },
    { name: 'bob', uid: 1001 },
  ]);
  await etc.write('nsswitch.conf', 'passwd: files [NOTFOUND=continue] sss systemd\n');
  await mkdir(etc.path('etc/sssd/conf.d'), { recursive: true, mode: 0o711 });
});
afterEach(() => etc.remove());

describe('people whom nobody lists', () => {
  it('of Active Directory are in no range that is planned, and none that exists', async () => {
    await etc.write('sssd/sssd.conf', '[domain/ad.example]\nid_provider = ad\n');
    const refused = await etc.subid('apply');
    expect(refused).toMatchObject({ exitCode: 78, stdout: '' });
    expect(refused.stderr).toContain("the range of sssd's domain ad.example");
    expect(refused.stderr).toContain('--base 2000224256');
    const applied = await etc.subid('apply', '--base', '2000224256');
    expect(applied).toMatchObject({ exitCode: 0, stderr: '' });
    // As a release without this rule wrote it.
    await etc.write('subuid', 'alice:655360000:65536\nbob:2000289792:65536\n');
    const plan = await etc.subid('plan');
    expect(plan).toMatchObject({ exitCode: 78, stdout: '' });
    expect(plan.stderr).toContain('[subid-entry-holds-account]');
    expect(plan.stderr).toContain('berth: subuid: 655360000-655425535 of alice (line 1) contains');
    expect(plan.stderr).not.toContain('nothing was written');
  });

  it('of a directory without a known range are asked for, unless all have a range', async () => {
    await etc.write('sssd/sssd.conf', '[domain/ldap.example]\nid_provider = ldap\n');
    const refused = await etc.subid('apply');
    expect(refused).toMatchObject({ exitCode: 78, stdout: '' });
    expect(refused.stderr).toContain("sssd's domain ldap.example does not list its accounts");
    expect(refused.stderr).toContain('--reserved');
    expect(await etc.leftovers()).toEqual(['nsswitch.conf', 'sssd']);
    const taken = await etc.subid('apply', '--reserved', '5000-6000,655300000-655400000');
    expect(taken.stderr).toContain('[subid-overlaps-account]');
    expect((await etc.subid('apply', '--reserved', '1000-99999')).exitCode).toBe(0);
    expect(await etc.read('subuid')).toBe('alice:655360000:65536\nbob:655425536:65536\n');
    expect((await etc.subid('plan')).exitCode).toBe(0);
  });

  it('are limited by a snippet, or listed by sssd', async () => {
    await etc.write('sssd/sssd.conf', '[domain/ldap.example]\nid_provider = ldap\n');
    await etc.write('sssd/conf.d/.hidden.conf', '[domain/ldap.example]\nid_provider = ipa\n');
    await etc.write('sssd/conf.d/10-ids.conf', '[domain/ldap.example]\nmax_id = 99999\n');
    expect(await etc.subid('plan')).toMatchObject({ exitCode: 1, stderr: '' });
    await etc.write('sssd/conf.d/10-ids.conf', '[domain/ldap.example]\nenumerate = true\n');
    expect(await etc.subid('plan')).toMatchObject({ exitCode: 1, stderr: '' });
  });

  it('are not read from files that others can write; sssd itself may (as root)', async () => {
    const file = 'sssd/sssd.conf';
    await etc.write(file, '[domain/ldap.example]\nid_provider = ldap\nmax_id = 99999\n');
    await chmod(etc.path('etc', file), 0o666);
    expect((await etc.subid('plan')).stderr).toContain('[config-writable-by-others]');
    if (!isRoot) return;
    await chmod(etc.path('etc', file), 0o600);
    for (const path of ['sssd', file, 'sssd/conf.d']) await chown(etc.path('etc', path), 123, 123);
    expect((await etc.subid('plan')).stderr).toContain('[config-');
    const passwd = await etc.read('passwd');
    await etc.write('passwd', `${passwd}sssd:x:123:123::/:/usr/sbin/nologin\n`);
    expect(await etc.subid('plan')).toMatchObject({ exitCode: 1, stderr: '' });
  });

  it('of another service are asked for; those of winbind are in smb.conf', async () => {
    await etc.write('nsswitch.conf', 'passwd: files ldap\n');
    expect((await etc.subid('plan')).stderr).toContain('the service ldap of nsswitch.conf');
    await etc.write('nsswitch.conf', 'passwd: files winbind\n');
    expect((await etc.subid('plan')).stderr).toContain('winbind does not list its accounts');
    await mkdir(etc.path('etc/samba'));
    await etc.write('samba/smb.conf', '[global]\nidmap config * : range = 3000-7999\n');
    expect(await etc.subid('plan')).toMatchObject({ exitCode: 1, stderr: '' });
  });

  it.each(['5000', '6000-5000'])('cannot be said as --reserved %s', async (range) => {
    expect(await etc.subid('plan', '--reserved', range)).toMatchObject({ exitCode: 64 });
  });
});
