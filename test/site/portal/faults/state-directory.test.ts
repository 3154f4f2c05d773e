import { chmod, chown, mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { timed } from './fresh-portal.ts';
import { warningCodes } from '../../../rig/log-lines.ts';
import { Mounts } from './mounts.ts';
import { portalUser } from './portal-user.ts';

const user = 'faults-state';
const mounts = new Mounts();
const here = portalUser(user);

afterEach(() => mounts.remove());

describe('the registry credentials of the pull secret', () => {
  it.each([
    { what: 'not JSON', text: 'user:pass', code: 'docker-config-invalid' },
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
    const file = here.portal.files.dockerConfig;
    await rm(file);
    if (given.text !== undefined) await writeFile(file, given.text);
    if (given.mode !== undefined) await chmod(file, given.mode);

    const { exitCode, stderr, errors } = await timed(here.portal.prePun(user, here.tokens));

    expect(exitCode).toBe(78);
    expect(errors, stderr).toEqual([expect.objectContaining({ code: given.code, file })]);
    expect(errors[0]?.hint).toMatch(/\w+ \w+/);
    expect(stderr).not.toContain('user:pass');
  });
});

describe("the hook's state directory", () => {
  it('missing: it is created with mode 0700', async () => {
    await here.portal.prePun(user, here.tokens);

    expect((await stat(here.portal.files.stateDir)).mode & 0o777).toBe(0o700);
  });

  it('empty, with two hooks at once: both work', async () => {
    await mkdir(here.portal.files.stateDir, { mode: 0o700 });
    const both = await Promise.all([
      here.portal.prePun(user, here.tokens),
      here.portal.prePun(user, here.tokens),
    ]);

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
        await mounts.tmpfs({ home: here.portal.files.stateDir, uid: 0, gid: 0 }, '64k');
        await mounts.fill(`${here.portal.files.stateDir}/fill`);
      },
    },
    {
      what: 'on a file system that is read-only',
      arrange: async () => {
        await mounts.tmpfs({ home: here.portal.files.stateDir, uid: 0, gid: 0 }, '64k');
        await mounts.readOnly(here.portal.files.stateDir);
      },
    },
  ])('$what: every run of the hook succeeds, with a warning', async ({ arrange }) => {
    await mkdir(here.portal.files.stateDir, { mode: 0o700 });
    await arrange();

    for (const which of ['first', 'later']) {
      const { exitCode, stderr } = await here.portal.prePun(user, here.tokens);
      expect(exitCode, stderr).toBe(0);
      expect(warningCodes(stderr).length, which).toBeGreaterThan(0);
    }
    const { exitCode } = await here.site.kubectl(['get', 'pods'], {
      account: user,
      kubeconfig: `${here.account.home}/.kube/config`,
    });
    expect(exitCode).toBe(0);
  });

  it.each([
    { what: 'belonging to somebody else', uid: 64_500, mode: 0o700 },
    { what: 'that everybody can write', uid: 0, mode: 0o777 },
    { what: 'that a group can write', uid: 0, mode: 0o770 },
  ])('$what: nothing is read from it or written to it', async ({ uid, mode }) => {
    const { stateDir } = here.portal.files;
    await mkdir(stateDir);
    await chmod(stateDir, mode);
    await chown(stateDir, uid, 0);

    const { exitCode, errors } = await timed(here.portal.prePun(user, here.tokens));

    expect(exitCode).toBe(78);
    expect(errors).toEqual([expect.objectContaining({ code: 'state-dir-unsafe', file: stateDir })]);
    expect(errors[0]?.hint).toContain(`rm -r ${stateDir}`);
    expect(await readdir(stateDir)).toEqual([]);
  });
});

describe('a missing CA file of the identity provider', () => {
  it('exit 78, config-missing for its cluster, no kubeconfig; the namespace is created', async () => {
    const ca = `${here.portal.directory}/no-such.pem`;
    await here.portal.writeBerth({ defaults: { credentials: { ca_file: ca } } });
    const { exitCode, stderr, errors } = await timed(here.portal.prePun(user, here.tokens));

    expect(exitCode).toBe(78);
    const error = { code: 'config-missing', file: ca, cluster: 'prod' };
    expect(errors, stderr).toEqual([expect.objectContaining(error)]);
    expect(stderr).toContain('namespace created');
    expect(await readdir(here.account.home)).toEqual([]);
  });
});

describe('a token of another user', () => {
  it('exit 77, a token- code, no kubeconfig; the namespace is created', async () => {
    await here.site.keycloak.addUser('faults-other');
    const { exitCode, stderr, errors } = await timed(
      here.portal.prePun(user, await here.portal.login('faults-other')),
    );

    expect(exitCode).toBe(77);
    expect(errors).toHaveLength(1);
    expect(errors[0]?.code).toMatch(/^token-/);
    expect(errors[0]?.cluster).toBe('prod');
    expect(stderr).toContain('namespace created');
    expect(await readdir(here.account.home)).toEqual([]);
  });
});
