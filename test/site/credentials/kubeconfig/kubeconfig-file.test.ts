import { execFileSync } from 'node:child_process';
import {
  chmod,
  chown,
  lstat,
  mkdir,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { kubeconfigDigest } from '../../../../src/credentials/kubeconfig/kubeconfig-entries.ts';
import {
  planKubeconfig,
  updateKubeconfig,
  options,
  testHome,
  wanted,
  type TestHome,
} from './kubeconfig-home.ts';

const mine = '# mine\nkind: Config\nusers:\n- name: bob\n  user: {token: x}\n';

describe.runIf(process.getuid?.() === 0)("a user's kubeconfig (as root)", () => {
  let home: TestHome;
  beforeEach(async () => {
    home = await testHome();
  });
  afterEach(() => home.remove());
  const update = (knownDigest?: string) =>
    updateKubeconfig(home.user, wanted, {
      ...options(),
      ...(knownDigest === undefined ? {} : { knownDigest }),
    });
  /** Checks that there is nothing beside the file: no lock, no temporary file. */
  const beside = async (): Promise<string[]> =>
    (await readdir(join(home.user.home, '.kube'))).filter((name) => name !== 'config');

  it('is created by the first hook, readable by its user only', async () => {
    expect(await update()).toMatchObject({ changed: true });
    const [file, directory] = [await stat(home.config), await stat(join(home.config, '..'))];
    expect([file.uid, file.gid, file.mode & 0o7777]).toEqual([64_501, 64_501, 0o600]);
    expect([directory.uid, directory.mode & 0o7777]).toEqual([64_501, 0o700]);
    expect(await readFile(home.config, 'utf8')).toContain('command: /usr/lib/berth/shell/');
    expect(await beside()).toEqual([]);
  });

  it('is neither changed nor locked by the next hook', async () => {
    const first = await update();
    const before = await stat(home.config, { bigint: true });
    await writeFile(`${home.config}.lock`, '');
    expect(await update()).toEqual({ changed: false, digest: first.digest });
    expect(await update(first.digest)).toEqual({ changed: false, digest: first.digest });
    expect(await stat(home.config, { bigint: true })).toMatchObject({
      ino: before.ino,
      mtimeNs: before.mtimeNs,
    });
  });

  it('is not parsed while file and wanted entries are unchanged', async () => {
    await home.put('users: [');
    const digest = kubeconfigDigest(await readFile(home.config), wanted);
    expect(await update(digest)).toEqual({ changed: false, digest });
    await expect(
      updateKubeconfig(home.user, [], { ...options(), knownDigest: digest }),
    ).rejects.toMatchObject({ code: 'kubeconfig-invalid' });
  });

  it('is corrected if the user has changed our entry', async () => {
    const { digest } = await update();
    const text = await readFile(home.config, 'utf8');
    await home.put(text.replace('user-ann', 'user-bob'));
    expect(await update(digest)).toEqual({ changed: true, digest });
    expect(await readFile(home.config, 'utf8')).toBe(text);
  });

  it('is readable by its user only once it contains credentials', async () => {
    await home.put(mine, 0o644);
    await update();
    expect((await stat(home.config)).mode & 0o777).toBe(0o600);
  });

  it('keeps its mode if only cluster and context are set', async () => {
    await home.put(mine, 0o640);
    const [{ cluster } = {}] = wanted;
    await updateKubeconfig(home.user, cluster === undefined ? [] : [{ cluster }], options());
    expect((await stat(home.config)).mode & 0o777).toBe(0o640);
  });

  it('remains a symlink into the user’s dotfiles; its target is replaced', async () => {
    const target = await home.put(mine, 0o600, 'dotfiles-config');
    await symlink('../dotfiles-config', home.config);
    await update();
    expect((await lstat(home.config)).isSymbolicLink()).toBe(true);
    expect(await readFile(target, 'utf8')).toContain(mine);
  });

  it('is planned without any change, and then written as planned', async () => {
    await home.put(mine, 0o644);
    const before = await stat(home.config, { bigint: true });
    const plan = await planKubeconfig(home.user, wanted);
    expect(plan).toMatchObject({ path: home.config, text: mine, changed: true, mode: 0o600 });
    expect((await stat(home.config, { bigint: true })).ctimeNs).toBe(before.ctimeNs);
    expect(await beside()).toEqual([]);
    await update();
    expect(await readFile(home.config, 'utf8')).toBe(plan.newText);
    expect(await planKubeconfig(home.user, wanted)).toMatchObject({ changed: false });
  });

  it('is planned for a first hook without creating a directory', async () => {
    expect(await planKubeconfig(home.user, wanted)).toMatchObject({ text: '', changed: true });
    expect(await readdir(home.user.home)).toEqual([]);
  });

  it('removes what killed writers left beside it, and nothing else', async () => {
    await home.put(mine);
    const old = await home.put('', 0o600, '.kube/.config.berth-00000000-1-2-0123456789abcdef');
    await utimes(old, 1, 1);
    await home.put('', 0o600, '.kube/.config.berth-00000000-1-2-fedcba9876543210');
    const foreign = await home.put('', 0o600, '.kube/.config.berth-notes');
    await utimes(foreign, 1, 1);
    await update();
    expect((await beside()).sort()).toEqual([
      '.config.berth-00000000-1-2-fedcba9876543210',
      '.config.berth-notes',
    ]);
  });

  describe('is refused by hook and dry run, and remains unchanged', () => {
    const refuses = async (code: string): Promise<void> => {
      for (const run of [update, () => planKubeconfig(home.user, wanted)]) {
        await expect(run()).rejects.toMatchObject({ code });
      }
    };

    it('a symlink to the file of another user', async () => {
      const other = await home.put(mine, 0o666, 'of-another');
      await chown(other, 64_502, 64_502);
      await symlink(other, home.config);
      await refuses('kubeconfig-not-own-file');
      expect(await readFile(other, 'utf8')).toBe(mine);
    });

    it('a symlink to a file that only root may read', async () => {
      await home.put('');
      await rm(home.config);
      await symlink('/etc/shadow', home.config);
      await refuses('kubeconfig-not-own-file');
    });

    it('a symlink below a directory that the user may not enter', async () => {
      const parent = join(home.user.home, 'closed');
      await mkdir(parent, { mode: 0o700 });
      await writeFile(join(parent, 'config'), mine);
      await home.put('');
      await rm(home.config);
      await symlink(join(parent, 'config'), home.config);
      await refuses('kubeconfig-unreadable');
    });

    it('a symlink to nothing, and one to itself', async () => {
      await home.put('');
      await rm(home.config);
      await symlink('gone', home.config);
      await refuses('kubeconfig-dangling-link');
      await rm(home.config);
      await symlink('config', home.config);
      await refuses('kubeconfig-not-a-file');
    });

    it('a directory', async () => {
      await mkdir(home.config, { recursive: true });
      await chown(home.config, 64_501, 64_501);
      await refuses('kubeconfig-not-a-file');
    });

    it('a FIFO, without waiting for its writer', async () => {
      await home.put('');
      await rm(home.config);
      execFileSync('mkfifo', [home.config]);
      await chown(home.config, 64_501, 64_501);
      await refuses('kubeconfig-not-a-file');
    });

    it('a .kube that is a file', async () => {
      await writeFile(join(home.user.home, '.kube'), '');
      await refuses('kubeconfig-not-a-file');
    });

    it('a file that is read-only', async () => {
      await home.put(mine, 0o400);
      await refuses('kubeconfig-read-only');
      expect(await readFile(home.config, 'utf8')).toBe(mine);
    });

    it('a file that its user may not read', async () => {
      await home.put(mine, 0o000);
      await refuses('kubeconfig-unreadable');
    });

    it('broken YAML, and bytes that are not UTF-8', async () => {
      await home.put('users: [');
      await refuses('kubeconfig-invalid');
      await writeFile(home.config, Buffer.from([0x6b, 0x3a, 0x20, 0xff, 0x0a]));
      await refuses('kubeconfig-invalid');
    });

    it('a file of more than 8 MiB', async () => {
      await home.put('#'.repeat(8 * 1024 * 1024 + 1));
      await refuses('kubeconfig-too-large');
    });

    it.each(['', 'relative/home', '/', '//'])('a home %j', async (path) => {
      const user = { ...home.user, home: path };
      await expect(updateKubeconfig(user, wanted, options())).rejects.toMatchObject({
        code: 'home-invalid',
      });
    });

    it('a home that is not mounted', async () => {
      const user = { ...home.user, home: '/nonexistent/ann' };
      await expect(updateKubeconfig(user, wanted, options())).rejects.toMatchObject({
        code: 'home-missing',
      });
    });
  });

  it('remains unchanged if its directory is read-only', async () => {
    await home.put(mine);
    await chmod(join(home.config, '..'), 0o500);
    await expect(update()).rejects.toMatchObject({ code: 'write-not-permitted', exitCode: 77 });
    expect(await readFile(home.config, 'utf8')).toBe(mine);
  });

  describe('on a small file system', () => {
    const mount = (...mountOptions: string[]): void => {
      execFileSync('mount', [
        '-t',
        'tmpfs',
        '-o',
        mountOptions.join(','),
        'berth-test',
        home.user.home,
      ]);
    };
    afterEach(() => {
      execFileSync('umount', [home.user.home]);
    });

    it('remains unchanged if the disk is full, and is written when there is space again', async () => {
      mount('size=16k', 'uid=64501', 'gid=64501', 'mode=0700');
      await home.put(mine);
      const filler = await home.put('', 0o600, 'filler');
      await writeFile(filler, Buffer.alloc(64 * 1024)).catch(() => undefined);
      await expect(update()).rejects.toMatchObject({ code: 'disk-full', exitCode: 74 });
      expect(await readFile(home.config, 'utf8')).toBe(mine);
      expect(await beside()).toEqual([]);
      await rm(filler);
      expect(await update()).toMatchObject({ changed: true });
    });

    it('remains unchanged if no inode is left', async () => {
      mount('nr_inodes=5', 'uid=64501', 'gid=64501', 'mode=0700');
      await home.put(mine);
      for (let index = 0; index < 9; index++) {
        await home.put('', 0o600, `filler-${index}`).catch(() => undefined);
      }
      await expect(update()).rejects.toMatchObject({ code: 'disk-full' });
      expect(await beside()).toEqual([]);
    });

    it('is reported if it is mounted read-only', async () => {
      mount('uid=64501', 'gid=64501', 'mode=0700');
      await expect(update()).resolves.toMatchObject({ changed: true });
      await home.put(mine);
      execFileSync('mount', ['-o', 'remount,ro', home.user.home]);
      await expect(update()).rejects.toMatchObject({ code: 'kubeconfig-read-only' });
      execFileSync('mount', ['-o', 'remount,rw', home.user.home]);
      await rm(home.config);
      execFileSync('mount', ['-o', 'remount,ro', home.user.home]);
      await expect(update()).rejects.toMatchObject({ code: 'file-system-read-only' });
    });
  });
});
