import { chmod, chown, lstat, mkdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { berthDocument } from '../../rig/berth-document.ts';
import { ensureAccount } from '../../rig/site/accounts.ts';
import { berth, EtcDirectory, type Person } from './etc-directory.ts';

const isRoot = process.getuid?.() === 0;
const alice: Person = { name: 'alice', uid: 1000, groups: [5001, 5002] };
const bob: Person = { name: 'bob', uid: 1001, groups: [5002] };
const bothLines = 'alice:655360000:65536\nbob:655425536:65536\n';
let etc: EtcDirectory;

beforeEach(async () => {
  etc = await EtcDirectory.make([alice, bob]);
});
afterEach(() => etc.remove());

describe('berth subid plan', () => {
  it.each([
    ['no file yet', undefined],
    ['an empty file', ''],
    ['other lines', '# by hand\neve:100000:65536\n'],
    ['a last line without its newline', '# by hand\neve:100000:65536'],
  ])('with %s prints what apply writes, and writes nothing', async (_what, before) => {
    if (before !== undefined) await etc.write('subuid', before);
    if (before !== undefined) await etc.write('subgid', before);
    const plan = await etc.subid('plan', '--groups');
    expect(plan).toMatchObject({ exitCode: 1, stderr: '' });
    if (before !== undefined) expect(await etc.read('subuid')).toBe(before);
    expect((await etc.subid('apply', '--groups')).exitCode).toBe(0);
    const separator = before === undefined || before === '' || before.endsWith('\n') ? '' : '\n';
    const kept = `${before ?? ''}${separator}`;
    expect(await etc.read('subuid')).toBe(`${kept}${bothLines}`);
    const groupLines =
      'alice:655360000:65536\nalice:5001:1\nalice:5002:1\nbob:655425536:65536\nbob:5002:1\n';
    expect(await etc.read('subgid')).toBe(`${kept}${groupLines}`);
    const planned = (file: string, lines: string): string =>
      lines.replaceAll(/^(?=.)/gm, `+ ${etc.path('etc', file)} `);
    expect(plan.stdout).toBe(planned('subuid', bothLines) + planned('subgid', groupLines));
    expect(await etc.subid('plan', '--groups')).toEqual({ exitCode: 0, stdout: '', stderr: '' });
    expect(await etc.leftovers()).toEqual([]);
  });

  it('leaves out accounts without a login shell, unless they are named', async () => {
    const slurm = 'slurm:x:64030:64030::/nonexistent:/usr/sbin/nologin\n';
    await etc.write('passwd', `${slurm}alice:x:1000:1000::/:/bin/sh\n`);
    expect((await etc.subid('apply')).exitCode).toBe(0);
    expect(await etc.read('subuid')).toBe('alice:655360000:65536\n');
    expect((await etc.subid('plan', 'slurm')).stderr).toContain('[subid-uid-does-not-fit]');
  });

  it('prints everything as JSON', async () => {
    await etc.write('subuid', 'eve:655430000:10\neve:655430005:10\nnonsense\n');
    const { exitCode, stdout, stderr } = await etc.subid('plan', '-o', 'json', '--directories');
    expect({ exitCode, stderr }).toEqual({ exitCode: 78, stderr: '' });
    expect(berthDocument(stdout)).toMatchObject({
      apiVersion: 'berth/v1',
      kind: 'SubidPlan',
      layout: { firstUid: 1000, base: 655_360_000, size: 65_536 },
      users: 2,
      complete: 0,
      subuid: {
        file: etc.path('etc/subuid'),
        add: [{ owner: 'alice', start: 655_360_000, count: 65_536 }],
      },
      directories: { make: [{ uid: 1000 }, { uid: 1001 }], present: 0 },
      problems: [{ code: 'subid-overlaps-entry', user: 'bob', uid: 1001, file: 'subuid' }],
      warnings: [
        { code: 'subid-entry-malformed', file: 'subuid', line: 3 },
        { code: 'subid-entries-overlap', file: 'subuid', line: 2 },
      ],
    });
  });

  it('accepts names, files of names and lines of passwd(5), and names unknown users', async () => {
    const list = etc.path('list');
    await writeFile(list, '# people\n\nbob\ncarol:x:1002:1002::/:/bin/sh\n');
    const owners = async (...args: string[]): Promise<string[]> => {
      const { stdout } = await etc.subid('plan', '-o', 'json', ...args);
      const { subuid } = berthDocument(stdout) as { subuid: { add: { owner: string }[] } };
      return subuid.add.map(({ owner }) => owner);
    };
    expect(await owners('bob')).toEqual(['bob']);
    expect(await owners('bob', 'alice')).toEqual(['alice', 'bob']);
    expect(await owners('bob', '--', 'alice')).toEqual(['alice', 'bob']);
    expect(await owners('--users-from', list)).toEqual(['bob', 'carol']);
    expect(await owners('alice', '--users-from', list)).toEqual(['alice', 'bob', 'carol']);
    expect(await owners('--first-uid', '1001')).toEqual(['bob']);
    const unknown = await etc.subid('plan', 'alice', 'dave');
    expect(unknown).toMatchObject({ exitCode: 67, stdout: '' });
    expect(unknown.stderr).toMatch(/there is no user dave \[user-unknown\]\nnext: /);
    const root = await etc.subid('plan', 'root', 'nobody');
    expect(root).toMatchObject({ exitCode: 0, stdout: '' });
    expect(root.stderr).toContain('root is left out: UID 0 is below 1000');
    expect(root.stderr).toContain('nobody is left out: it is the UID of nobody');
  });

  it.each([
    [['--base', '-5'], 'usage'],
    [['--base', '0'], 'usage'],
    [['--size', '65k'], 'usage'],
    [['--first-uid', '4294967295'], 'usage'],
    [['--', '-x'], 'user-name-invalid'],
    [['../x'], 'user-name-invalid'],
    [['--size', '1024', '--size', '2048'], 'usage'],
    [['-o', 'text', '-o', 'text'], 'usage'],
  ])('%j is refused with exit 64', async (args, code) => {
    const { exitCode, stdout, stderr } = await etc.subid('plan', ...args);
    expect({ exitCode, stdout }).toEqual({ exitCode: 64, stdout: '' });
    expect(stderr).toContain(`[${code}]\nnext: `);
  });

  it('describes an error as JSON too', async () => {
    const { exitCode, stdout, stderr } = await etc.subid('plan', '-o', 'json', '-o', 'json');
    expect({ exitCode, stdout }).toEqual({ exitCode: 64, stdout: '' });
    const message = '--output may be given only once';
    expect(berthDocument(stderr)).toMatchObject({
      kind: 'Error',
      code: 'usage',
      message,
      exitStatus: 64,
    });
  });

  it('warns if nsswitch.conf does not read /etc/subuid', async () => {
    await writeFile(etc.path('etc/nsswitch.conf'), 'passwd: files\nsubid: sss\n');
    expect((await etc.subid('plan')).stderr).toContain('`subid: sss`');
  });

  it.runIf(isRoot)('asks NSS for accounts and groups (as root)', async () => {
    await ensureAccount('subid-ann', { groups: ['subid-proj'] });
    const { stdout: gid } = await execa('sh', ['-c', 'getent group subid-proj | cut -d: -f3']);
    const words = ['subid', 'plan', '--groups', '-o', 'json', 'subid-ann'];
    const { stdout } = await execa(berth, words, { reject: false });
    const { users, subgid } = berthDocument(stdout) as {
      users: number;
      subgid: { add: unknown[] };
    };
    expect(users).toBe(1);
    expect(subgid.add).toContainEqual({ owner: 'subid-ann', start: Number(gid), count: 1 });
  });
});

describe('berth subid apply', () => {
  it('keeps foreign bytes, owner and mode, links, and the old file beside it', async () => {
    const foreign = Buffer.from(
      '# caf\xe9 \x00\x01\r\neve:100000:65536\r\n\n  odd line\n',
      'latin1',
    );
    await mkdir(etc.path('elsewhere'));
    await writeFile(etc.path('elsewhere/subuid'), foreign);
    await symlink('../elsewhere/subuid', etc.path('etc/subuid'));
    await etc.write('subgid', foreign);
    await chmod(etc.path('etc/subgid'), 0o640);
    if (isRoot) await chown(etc.path('etc/subgid'), 12, 34);
    const before = await stat(etc.path('etc/subgid'));

    expect((await etc.subid('apply')).exitCode).toBe(0);

    for (const file of ['subuid', 'subgid']) {
      expect(await etc.read(file)).toBe(foreign.toString('latin1') + bothLines);
      expect(await etc.read(`${file}-`)).toBe(foreign.toString('latin1'));
    }
    expect((await lstat(etc.path('etc/subuid'))).isSymbolicLink()).toBe(true);
    const { mode, uid, gid } = await stat(etc.path('etc/subgid'));
    expect({ mode, uid, gid }).toEqual({ mode: before.mode, uid: before.uid, gid: before.gid });
  });

  it('changes nothing if nothing is missing', async () => {
    await etc.subid('apply');
    const before = await stat(etc.path('etc/subuid'));
    expect((await etc.subid('apply')).stdout).toMatch(
      /subuid: complete, not changed\n.*complete, not changed/,
    );
    expect((await stat(etc.path('etc/subuid'))).ino).toBe(before.ino);
  });

  it('writes nothing if one user has no range, and the other ranges with --keep-going', async () => {
    await etc.write('subuid', 'eve:655430000:10\n');
    const refused = await etc.subid('apply');
    expect(refused).toMatchObject({ exitCode: 78, stdout: '' });
    expect(refused.stderr).toContain(
      '655425536-655491071 of bob overlap 655430000-655430009 of eve in subuid',
    );
    expect(refused.stderr).toContain('Use a `--base` above all ranges');
    expect(await etc.read('subuid')).toBe('eve:655430000:10\n');

    expect((await etc.subid('apply', '--keep-going')).exitCode).toBe(78);
    expect(await etc.read('subuid')).toBe('eve:655430000:10\nalice:655360000:65536\n');

    expect((await etc.subid('apply', '--base', '655491072')).exitCode).toBe(0);
    expect(await etc.read('subuid')).toBe(
      'eve:655430000:10\nalice:655360000:65536\nbob:655556608:65536\n',
    );
  });

  it.runIf(isRoot)(
    'keeps clear of what useradd gives, before it and after it (as root)',
    async () => {
      const useradd = async (names: readonly string[]): Promise<void> => {
        for (const name of names) await execa('useradd', ['--prefix', etc.root, name]);
      };
      const local = (from: number): string[] =>
        Array.from({ length: 9 }, (_, index) => `local${from + index}`);
      await etc.write('shadow', '');
      await etc.write('subuid', '');
      await etc.write('subgid', '');
      await useradd(local(1));
      expect(await etc.read('subuid')).toContain('local9:624288:65536\n');

      // Those of a directory, which useradd does not know.
      const people = ['ida', 'leo'].map(
        (name, index) => `${name}:x:${1000 + index}:100::/:/bin/sh`,
      );
      const applied = await etc.subid('apply', ...people);
      expect(applied, applied.stderr).toMatchObject({ exitCode: 0 });
      await useradd(local(10));

      const plan = await etc.subid('plan', '-o', 'json', ...people);
      expect(berthDocument(plan.stdout)).toMatchObject({ complete: 2, problems: [], warnings: [] });
      expect((await etc.read('subuid')).match(/^local/gm)).toHaveLength(18);
    },
  );

  it.runIf(isRoot)('makes the directories of the users (as root)', async () => {
    const storage = etc.path('storage');
    const args = ['--directories', '--storage', storage];
    expect((await etc.subid('plan', ...args)).stdout).toContain(
      `+ directory ${storage}/users/1000`,
    );
    expect((await etc.subid('apply', ...args)).stdout).toContain('2 directories created');
    const of = async (name: string): Promise<unknown> => {
      const { mode, uid, gid } = await stat(join(storage, 'users', name));
      return { mode: mode & 0o7777, uid, gid };
    };
    expect(await of('1000')).toEqual({ mode: 0o700, uid: 1000, gid: 1000 });
    expect(await of('.')).toEqual({ mode: 0o755, uid: 0, gid: 0 });
    expect((await etc.subid('plan', ...args)).exitCode).toBe(0);

    // One that another has, and one that a kill left to root.
    await chown(join(storage, 'users/1000'), 1234, 1234);
    await chown(join(storage, 'users/1001'), 0, 0);
    const mended = await etc.subid('apply', ...args);
    expect(mended.stdout).toContain('1 directory created');
    expect(mended.stderr).toContain('users/1000 is not changed: it belongs to UID 1234');
    expect(await of('1000')).toMatchObject({ uid: 1234 });
    expect(await of('1001')).toMatchObject({ uid: 1001 });
  });
});
