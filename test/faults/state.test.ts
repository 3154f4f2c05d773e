import { chmod, chown, mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ensureAccount, type Account } from '../site/accounts.ts';
import type { PortalTokens } from '../site/portal.ts';
import { openSite, type Site } from '../site/site.ts';
import { emptyHome } from './homes.ts';
import { type FreshPortal, freshPortal, removePortals, timed } from './hooks.ts';
import { warningCodes } from './log-lines.ts';
import { Mounts } from './mounts.ts';

const user = 'faults-state';
const mounts = new Mounts();
let site: Site;
let account: Account;
let tokens: PortalTokens;
let portal: FreshPortal;

beforeAll(async () => {
  site = await openSite();
  account = await ensureAccount(user);
  await site.keycloak.addUser(user);
  tokens = await (await freshPortal(site)).login(user);
});
beforeEach(async () => {
  await emptyHome(account);
  portal = await freshPortal(site, { deadline: '10s', cluster: { auth: { type: 'oidc' } } });
});
afterEach(() => mounts.remove());
afterAll(async () => {
  await removePortals(site);
  await emptyHome(account);
});

describe('the registry credentials of the pull secret', () => {
  it.each([
    { what: 'no JSON', text: 'user:pass', code: 'docker-config-invalid' },
    { what: 'JSON without auths', text: '{"a":1}', code: 'docker-config-invalid' },
    { what: 'a list', text: '[]', code: 'docker-config-invalid' },
    { what: 'empty', text: '', code: 'config-empty' },
    { what: 'missing', text: undefined, code: 'config-missing' },
    {
      what: 'writable by everybody',
      text: '{"auths":{}}',
      code: 'config-writable-by-others',
      mode: 0o666,
    },
  ])('$what: exit 78, $code, and the file is named but not quoted', async (given) => {
    const file = portal.files.dockerConfig;
    await rm(file);
    if (given.text !== undefined) await writeFile(file, given.text);
    if (given.mode !== undefined) await chmod(file, given.mode);

    const { exitCode, stderr, errors } = await timed(portal.prePun(user, tokens));

    expect(exitCode).toBe(78);
    expect(errors, stderr).toEqual([expect.objectContaining({ code: given.code, file })]);
    expect(errors[0]?.hint).toMatch(/\w+ \w+/);
    expect(stderr).not.toContain('user:pass');
  });
});

describe("the hook's own folder", () => {
  it('missing: it is made, root’s alone', async () => {
    await portal.prePun(user, tokens);

    expect((await stat(portal.files.stateDir)).mode & 0o777).toBe(0o700);
  });

  it('empty, and two hooks at once: both work', async () => {
    await mkdir(portal.files.stateDir, { mode: 0o700 });
    const both = await Promise.all([portal.prePun(user, tokens), portal.prePun(user, tokens)]);

    expect(
      both.map(({ exitCode }) => exitCode),
      JSON.stringify(both),
    ).toEqual([0, 0]);
    expect(both.map(({ stderr }) => warningCodes(stderr))).toEqual([[], []]);
  });

  it.each([
    {
      what: 'on a full disk',
      arrange: async () => {
        await mounts.tmpfs({ home: portal.files.stateDir, uid: 0, gid: 0 }, '64k');
        await mounts.fill(`${portal.files.stateDir}/fill`);
      },
    },
    {
      what: 'on a file system that is read-only',
      arrange: async () => {
        await mounts.tmpfs({ home: portal.files.stateDir, uid: 0, gid: 0 }, '64k');
        await mounts.readOnly(portal.files.stateDir);
      },
    },
  ])('$what: every login works, with a warning', async ({ arrange }) => {
    await mkdir(portal.files.stateDir, { mode: 0o700 });
    await arrange();

    for (const which of ['first', 'later']) {
      const { exitCode, stderr } = await portal.prePun(user, tokens);
      expect(exitCode, stderr).toBe(0);
      expect(warningCodes(stderr).length, which).toBeGreaterThan(0);
    }
    const { exitCode } = await site.kubectl(['get', 'pods'], {
      account: user,
      kubeconfig: `${account.home}/.kube/config`,
    });
    expect(exitCode).toBe(0);
  });

  it.each([
    { what: 'belonging to somebody else', uid: 64_500, mode: 0o700 },
    { what: 'that everybody can write', uid: 0, mode: 0o777 },
    { what: 'that a group can write', uid: 0, mode: 0o770 },
  ])('$what: nothing is read from it or written into it', async ({ uid, mode }) => {
    const { stateDir } = portal.files;
    await mkdir(stateDir);
    await chmod(stateDir, mode);
    await chown(stateDir, uid, 0);

    const { exitCode, errors } = await timed(portal.prePun(user, tokens));

    expect(exitCode).toBe(78);
    expect(errors).toEqual([expect.objectContaining({ code: 'state-dir-unsafe', file: stateDir })]);
    expect(errors[0]?.hint).toContain(`rm -r ${stateDir}`);
    expect(await readdir(stateDir)).toEqual([]);
  });
});

describe('a token that is somebody else’s', () => {
  it('exit 77, token-wrong-user, no kubeconfig; the namespace is made', async () => {
    await site.keycloak.addUser('faults-other');
    const { exitCode, stderr, errors } = await timed(
      portal.prePun(user, await portal.login('faults-other')),
    );

    expect(exitCode).toBe(77);
    expect(errors).toHaveLength(1);
    expect(errors[0]?.code).toMatch(/^token-/);
    expect(errors[0]?.cluster).toBe('prod');
    expect(stderr).toContain('namespace created');
    expect(await readdir(account.home)).toEqual([]);
  });
});
