import { chown, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  options,
  planKubeconfig,
  type TestHome,
  testHome,
  updateKubeconfig,
  wanted,
} from './kubeconfig-home.ts';

const mine = '# mine\nkind: Config\n';

describe.runIf(process.getuid?.() === 0)('a kubeconfig that the site names (as root)', () => {
  let home: TestHome;
  beforeEach(async () => {
    home = await testHome();
  });
  afterEach(() => home.remove());
  const named = (file: string) => updateKubeconfig(home.user, wanted, { ...options(), file });

  it('is created with its parent directories, readable by its user only', async () => {
    await named('.config/ood/kube');
    const directory = await stat(join(home.user.home, '.config/ood'));
    expect([directory.uid, directory.mode & 0o7777]).toEqual([64_501, 0o700]);
    expect((await stat(join(home.user.home, '.config/ood/kube'))).mode & 0o7777).toBe(0o600);
    expect(await readdir(home.user.home)).toEqual(['.config']);
  });

  it('may be named by an absolute path below the home', async () => {
    const path = join(home.user.home, 'kube');
    expect(await planKubeconfig(home.user, wanted, path)).toMatchObject({ path, changed: true });
  });

  it('may be a symlink within the home', async () => {
    const target = await home.put(mine, 0o600, 'dotfiles-config');
    await symlink('dotfiles-config', join(home.user.home, 'kube'));
    await named('kube');
    expect(await readFile(target, 'utf8')).toContain(mine);
  });

  it.each(['../x', '/tmp/x', '/', '..', ''])('is refused outside of the home: %j', async (file) => {
    for (const run of [() => named(file), () => planKubeconfig(home.user, wanted, file)])
      await expect(run()).rejects.toMatchObject({
        code: 'kubeconfig-outside-home',
        exitCode: 78,
      });
  });

  it('is refused if a symlink leads out of the home: the file, its directory, one far above', async () => {
    const elsewhere = join(home.user.home, '../elsewhere');
    await mkdir(elsewhere);
    await writeFile(join(elsewhere, 'config'), mine);
    for (const path of [elsewhere, join(elsewhere, 'config')]) await chown(path, 64_501, 64_501);
    await symlink(join(elsewhere, 'config'), join(home.user.home, 'file'));
    await symlink(elsewhere, join(home.user.home, 'out'));
    for (const file of ['file', 'out/config', 'out/new', 'out/a/b/new'])
      for (const run of [() => named(file), () => planKubeconfig(home.user, wanted, file)])
        await expect(run()).rejects.toMatchObject({ code: 'kubeconfig-outside-home' });
    expect(await readdir(elsewhere)).toEqual(['config']);
    expect(await readFile(join(elsewhere, 'config'), 'utf8')).toBe(mine);
  });

  it('is refused if it is a dangling symlink', async () => {
    await symlink('gone', join(home.user.home, 'link'));
    for (const file of ['link', 'link/config', 'link/a/b/config'])
      await expect(named(file)).rejects.toMatchObject({ code: 'kubeconfig-dangling-link' });
  });
});
