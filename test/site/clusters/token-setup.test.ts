import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { hookKubeconfig, installDirectory, Portal } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';

let site: Site;
let portal: Portal;

beforeAll(async () => {
  site = await openSite();
  portal = await Portal.make(site);
});
afterAll(() => portal.remove());

const read = (): Promise<string> => readFile(portal.files.kubeconfig, 'utf8');

const hook = 'system:serviceaccount:ondemand:berth-hook';

describe('berth token setup', () => {
  it("creates root's kubeconfig for the hook with an admin's credentials", async () => {
    await execa('rm', ['-f', portal.files.kubeconfig]);
    const { exitCode, stdout, stderr } = await portal.berth(
      ...['token', 'setup', '--cluster', 'prod', '--from', site.adminKubeconfig],
    );
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toContain('user berth-hook@prod');
    expect((await stat(portal.files.kubeconfig)).mode & 0o777).toBe(0o600);
    const whoami = await site.kubectl(['auth', 'whoami', '-o', 'json'], {
      kubeconfig: portal.files.kubeconfig,
    });
    expect(whoami.stdout).toContain(hook);
    expect(await portal.berth('token', 'rotate')).toMatchObject({ exitCode: 0 });
  });

  it('tests the token with --dry-run, and writes nothing', async () => {
    await execa('rm', ['-f', portal.files.kubeconfig]);
    const names = await readdir(dirname(portal.files.kubeconfig));
    const words = ['token', 'setup', '--cluster', 'prod', '--dry-run', '--from'];
    const { exitCode, stdout, stderr } = await portal.berth(...words, site.adminKubeconfig);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 0,
      stderr: 'dry run: nothing was changed',
    });
    expect(stdout).toContain('would write a new token of user ');
    expect(await readdir(dirname(portal.files.kubeconfig))).toEqual(names);

    await writeFile(portal.files.kubeconfig, await hookKubeconfig(site), { mode: 0o600 });
    const other = await portal.berth(...words, site.adminKubeconfig);
    expect(other).toMatchObject({ exitCode: 78 });
  });

  it('accepts a token that kubectl created', async () => {
    await execa('rm', ['-f', portal.files.kubeconfig]);
    const { stdout: token } = await site.kubectl('-n ondemand create token berth-hook'.split(' '));
    const result = await execa(
      join(installDirectory, 'berth'),
      ['token', 'setup', '--config', portal.files.berth],
      { input: token, reject: false },
    );
    expect(result).toMatchObject({ exitCode: 0, stderr: '' });
    const { users } = parse(await read()) as { users: unknown };
    expect(users).toEqual([{ name: 'berth-hook@prod', user: { token: token.trim() } }]);
  });

  it("refuses another account's token, and writes nothing", async () => {
    await execa('rm', ['-f', portal.files.kubeconfig]);
    const { stdout: token } = await site.kubectl('-n default create token default'.split(' '));
    const { exitCode, stderr } = await execa(
      join(installDirectory, 'berth'),
      ['token', 'setup', '--config', portal.files.berth],
      { input: token, reject: false },
    );
    expect(exitCode).toBe(69);
    expect(stderr).toContain('[hook-token-rejected]');
    expect(stderr).toContain('authenticates it as system:serviceaccount:default:default');
    await expect(read()).rejects.toThrow('ENOENT');
  });

  it('writes nothing if the hook would use another context, and prints what to configure', async () => {
    const before = await hookKubeconfig(site);
    await writeFile(portal.files.kubeconfig, before, { mode: 0o600 });
    const { exitCode, stderr } = await portal.berth(
      ...['token', 'setup', '--cluster', 'prod', '--from', site.adminKubeconfig],
    );
    expect(exitCode).toBe(78);
    expect(stderr).toContain(
      'next: Nothing was written. Set clusters.prod.admin.context: berth-hook@prod in berth.yml',
    );
    expect(await read()).toBe(before);
  });
});
