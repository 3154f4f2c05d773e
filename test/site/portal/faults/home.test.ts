import { execa } from 'execa';
import { randomBytes } from 'node:crypto';
import {
  chmod,
  chown,
  lstat,
  mkdir,
  readFile,
  readlink,
  rename,
  rm,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ensureAccount, type Account } from '../../../rig/site/accounts.ts';
import { publicDirectory } from '../../../rig/site/directories.ts';
import type { PortalTokens } from '../../../rig/site/portal.ts';
import { openSite, type Site } from '../../../rig/site/site.ts';
import { emptyHome } from './homes.ts';
import { type FreshPortal, freshPortal, patience, removePortals, timed } from './fresh-portal.ts';
import { warningCodes } from '../../../rig/log-lines.ts';
import { yamlBombs } from '../../../rig/yaml-bombs.ts';
import { Mounts } from './mounts.ts';

const user = 'faults-home';
const mounts = new Mounts();
let site: Site;
let account: Account;
let tokens: PortalTokens;
let portal: FreshPortal;
let config: string;

beforeAll(async () => {
  site = await openSite();
  account = await ensureAccount(user);
  await site.keycloak.addUser(user);
  tokens = await (await freshPortal(site)).login(user);
  config = join(account.home, '.kube/config');
});
beforeEach(async () => {
  await emptyHome(account);
  await own(join(account.home, '.kube'), (path) => mkdir(path, { mode: 0o700 }));
  portal = await freshPortal(site, { deadline: '3s', cluster: { auth: { type: 'oidc' } } });
});
afterEach(() => mounts.remove());
afterAll(async () => {
  await removePortals(site);
  await emptyHome(account);
});

/** Creates something that the user owns. */
async function own(path: string, make: (path: string) => Promise<unknown>): Promise<void> {
  await make(path);
  await chown(path, account.uid, account.gid);
}

const mine = 'apiVersion: v1\nkind: Config\n# mine\n';
const write = (path: string): Promise<void> => writeFile(path, mine, { mode: 0o600 });

describe('a kubeconfig or a home that cannot be used', () => {
  it.each([
    {
      what: 'invalid YAML',
      code: 'kubeconfig-invalid',
      exit: 78,
      arrange: () =>
        own(config, (path) => writeFile(path, 'users: [\n- {name: \n', { mode: 0o600 })),
    },
    {
      what: "a symlink to another user's file",
      code: 'kubeconfig-not-own-file',
      exit: 77,
      arrange: async () => {
        const other = join(portal.directory, '..', `other-${randomBytes(4).toString('hex')}`);
        await writeFile(other, mine, { mode: 0o666 });
        await chmod(other, 0o666);
        await symlink(other, config);
        mounts.defer(() => rm(other));
      },
    },
    {
      what: "a symlink to a file of root's",
      code: 'kubeconfig-not-own-file',
      exit: 77,
      arrange: () => symlink('/etc/passwd', config),
    },
    {
      what: 'a directory',
      code: 'kubeconfig-not-a-file',
      exit: 78,
      arrange: () => own(config, (path) => mkdir(path)),
    },
    {
      what: 'a FIFO',
      code: 'kubeconfig-not-a-file',
      exit: 78,
      arrange: () => own(config, (path) => execa('mkfifo', [path])),
    },
    {
      what: 'a read-only file',
      code: 'kubeconfig-read-only',
      exit: 77,
      arrange: async () => {
        await own(config, write);
        await chmod(config, 0o400);
      },
    },
    {
      what: 'a read-only directory',
      code: 'write-not-permitted',
      exit: 77,
      arrange: async () => {
        await own(config, write);
        await chmod(join(account.home, '.kube'), 0o500);
      },
    },
    {
      what: 'a lock that a living kubectl holds',
      code: 'kubeconfig-locked',
      exit: 75,
      arrange: async () => {
        await own(config, write);
        await own(`${config}.lock`, write);
      },
    },
    {
      what: 'a file system that is read-only',
      code: 'file-system-read-only',
      exit: 74,
      arrange: async () => {
        await mounts.tmpfs(account, '1m');
        await own(join(account.home, '.kube'), (path) => mkdir(path));
        await own(config, write);
        await mounts.readOnly(account.home);
      },
    },
    {
      what: 'a full disk',
      code: 'disk-full',
      exit: 74,
      arrange: async () => {
        await mounts.tmpfs(account, '64k');
        await own(join(account.home, '.kube'), (path) => mkdir(path));
        await own(config, write);
        await mounts.fill(join(account.home, 'thesis'));
      },
    },
    {
      what: 'no home',
      code: 'home-missing',
      exit: 69,
      arrange: async () => {
        const aside = `${account.home}.aside`;
        await rename(account.home, aside);
        mounts.defer(() => rename(aside, account.home));
      },
    },
  ])('$what: exit $exit, $code; the namespace is created and the file unchanged', async (given) => {
    await given.arrange();
    const before = await state(config);

    const { exitCode, stderr, errors, took } = await timed(portal.prePun(user, tokens));

    expect(errors, stderr).toHaveLength(1);
    expect(errors[0]?.code, stderr).toBe(given.code);
    expect(exitCode).toBe(given.exit);
    expect(errors[0]?.msg).toContain(account.home);
    expect(errors[0]?.file).toContain(account.home);
    expect(errors[0]?.hint).toMatch(/\w+ \w+/);
    expect(stderr).toContain('msg="namespace created"');
    expect(await state(config)).toEqual(before);
    expect(took).toBeLessThan(3_000 + patience);
  });

  it('a lock of a dead kubectl: taken over with a warning', async () => {
    await own(config, write);
    await own(`${config}.lock`, write);
    const old = new Date(Date.now() - 60_000);
    await utimes(`${config}.lock`, old, old);

    const { exitCode, stderr } = await portal.prePun(user, tokens);

    expect(exitCode).toBe(0);
    expect(warningCodes(stderr)).toContain('kubeconfig-lock-taken-over');
    const written = await readFile(config, 'utf8');
    expect(written).toContain('# mine\n');
    expect(written).toContain('kube-credential');
    await expect(lstat(`${config}.lock`)).rejects.toThrow('ENOENT');
  });
});

describe('a kubeconfig that holds a parser up', () => {
  it.each(Object.entries(yamlBombs))(
    '%s: the hook, a plan and doctor end in time',
    async (_, text) => {
      expect(text.length).toBeLessThan(2_048);
      await own(config, (path) => writeFile(path, text, { mode: 0o600 }));

      const login = await timed(portal.prePun(user, tokens));
      expect(login.errors.map(({ code }) => code)).toEqual(['kubeconfig-too-large']);
      expect(login.errors[0]?.msg).toContain(config);
      expect(login.stderr).toContain('msg="namespace created"');
      expect(login.took).toBeLessThan(3_000 + patience);

      const plan = await timed(portal.berth('plan', '--user', user));
      expect(plan.stdout).toMatch(/kubeconfig-too-large|deadline-exceeded/);
      const doctor = await timed(portal.berth('doctor', '--user', user));
      expect(doctor.stdout).toMatch(/user-kubeconfig/);
      expect(Math.max(plan.took, doctor.took)).toBeLessThan(20_000);
      expect(await readFile(config, 'utf8')).toBe(text);
    },
  );
});

describe('the lock of a hook that was killed after it wrote the file', () => {
  it('is removed by the next hook, although that has nothing to write', async () => {
    await portal.prePun(user, tokens);
    const boot = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
    const namespace = (await readlink('/proc/self/ns/pid')).replace(/\D/g, '');
    const { stdout: dead } = await execa('sh', ['-c', 'echo $$']);
    await symlink(
      `berth:${boot.slice(0, 8)}-${namespace}-${dead}:1:0123456789ab:${hostname()}`,
      `${config}.lock`,
    );
    const before = await state(config);

    const { exitCode, stderr } = await portal.prePun(user, tokens);

    expect(exitCode).toBe(0);
    expect(warningCodes(stderr)).toEqual(['kubeconfig-lock-taken-over']);
    expect(await state(config)).toEqual(before);
    await expect(lstat(`${config}.lock`)).rejects.toThrow('ENOENT');
  });
});

describe('a home that hangs', () => {
  it('delays the hook until its deadline and no longer: exit 75, pipes closed, no process left', async () => {
    await emptyHome(account);
    // A real file system that hangs: bindfs, a FUSE daemon, is stopped.
    const server = await mounts.bindfs(account, join(publicDirectory, `hung-${user}`));
    server.stop();

    const { exitCode, stderr, errors, took } = await timed(portal.prePun(user, tokens));

    expect(
      errors.map(({ code }) => code),
      stderr,
    ).toContain('deadline-exceeded');
    expect(exitCode).toBe(75);
    expect(stderr).toContain('msg="namespace created"');
    expect(took).toBeGreaterThan(2_500);
    expect(took).toBeLessThan(3_000 + patience);

    const plan = await timed(portal.prePun(user, {}, '--dry-run'));
    expect(plan.exitCode).toBe(75);
    expect(plan.took).toBeLessThan(3_000 + patience);

    server.go();
    const next = await portal.prePun(user, tokens);
    expect([next.exitCode, next.stderr]).toEqual([
      0,
      expect.stringContaining('kubeconfig written'),
    ]);
  });
});

/** What must not change: type, mode and contents. */
async function state(path: string): Promise<unknown> {
  const status = await lstat(path).catch(() => undefined);
  if (status === undefined) return undefined;
  const { mode, mtimeMs, ino } = status;
  return { mode, mtimeMs, ino, text: status.isFile() ? await readFile(path, 'utf8') : undefined };
}
