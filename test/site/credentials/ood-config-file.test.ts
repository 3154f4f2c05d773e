import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { findCheck, problems, runDoctor, type DoctorReport } from '../../rig/site/doctor-report.ts';
import { errorLines } from '../../rig/log-lines.ts';
import { commandAs } from '../../rig/site/accounts.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { TestUsers, type TestUser } from '../../rig/site/test-users.ts';
import { type ClusterFile, Portal } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import type { Kubeconfig } from '../../rig/site/user-kubectl.ts';

let site: Site;
let newcomers: TestUsers;
const portals: Portal[] = [];

beforeAll(async () => {
  site = await openSite();
  newcomers = new TestUsers(new LiveCluster(site));
});

afterAll(async () => {
  await newcomers.removeNamespaces();
  for (const portal of portals) await portal.remove();
});

async function come(name: string): Promise<TestUser> {
  await site.keycloak.addUser(name);
  newcomers.alsoRemove(`u-other-${name}`);
  return newcomers.create(name);
}

/** Clusters `prod` and `other` with these `config_file`s and otherwise different files in clusters.d. */
async function portalOf(prod: ClusterFile, other: ClusterFile): Promise<Portal> {
  const endpoint = site.server.replace('127.0.0.1', 'localhost');
  const portal = await Portal.make(site, {
    clusters: {
      prod,
      other: {
        namespace_prefix: 'u-other-',
        server: { endpoint, cert_authority_file: site.ca.file },
        ...other,
      },
    },
  });
  portals.push(portal);
  const admin = { kubeconfig: portal.files.kubeconfig, context: 'c' };
  await portal.writeBerth({ defaults: { admin } });
  return portal;
}

/** As in ood_core, batch.rb: `--kubeconfig=#{config_file} --context=#{context}`, through a shell. */
async function byAdapter(user: TestUser, configFile: string, context: string): Promise<string> {
  const line = `${site.kubectlPath} --kubeconfig=${configFile} --context=${context} auth whoami -o json`;
  const { command, args } = commandAs(user.name, 'sh', ['-c', line]);
  const { stdout, stderr } = await execa(command, args, {
    reject: false,
    extendEnv: false,
    env: { PATH: '/usr/bin:/bin:/usr/sbin:/sbin', HOME: user.home },
    cwd: '/',
    stdin: 'ignore',
  });
  if (stdout === '') return stderr;
  return (JSON.parse(stdout) as { status: { userInfo: { username: string } } }).status.userInfo
    .username;
}

/** Without the warnings about the prefixes, which differ on purpose. */
const wrong = (report: DoctorReport): string[] =>
  problems(report).filter((one) => one !== 'config-warning warning');

/** One check for each file. */
const failedKubeconfig = ({ exitCode, checks }: DoctorReport): ReturnType<typeof findCheck> => {
  const failed = checks.filter(({ status }) => status === 'failed');
  return findCheck({ exitCode, checks: failed }, 'user-kubeconfig');
};

describe("OnDemand's config_file of a cluster", () => {
  it('is the only file that gets the credential, a different one for each cluster', async () => {
    const user = await come('cf-two');
    const [mine, theirs] = [
      join(user.home, '.kube/prod'),
      join(user.home, '.config/ood/other.yml'),
    ];
    const portal = await portalOf(
      { config_file: '~/.kube/prod' },
      { config_file: '$HOME/.config/ood/other.yml' },
    );
    const tokens = await portal.login(user.name);

    const planned = await portal.berth('plan', '--user', user.name);
    expect(planned.exitCode, planned.stderr).toBe(1);
    expect(planned.stdout).toContain(mine);
    expect(planned.stdout).toContain(theirs);
    expect(planned.stdout).not.toContain('.kube/config');
    const login = await portal.prePun(user.name, tokens);
    expect(login.exitCode, login.stderr).toBe(0);

    for (const [file, context] of [
      [mine, 'prod'],
      [theirs, 'other'],
    ] as const) {
      const { contexts } = parse(await readFile(file, 'utf8')) as Kubeconfig;
      expect(contexts.map(({ name }) => name)).toEqual([context]);
      const { uid, mode } = await stat(file);
      expect([uid, mode & 0o777]).toEqual([user.uid, 0o600]);
    }
    expect(existsSync(join(user.home, '.kube/config'))).toBe(false);
    expect(await byAdapter(user, '$HOME/.config/ood/other.yml', 'other')).toBe(`oidc:${user.name}`);
    expect(await byAdapter(user, mine, 'prod')).toBe(`oidc:${user.name}`);
    expect((await portal.berth('plan', '--user', user.name)).exitCode).toBe(0);
  });

  it('is not written again by the next hook', async () => {
    const user = await come('cf-same');
    const portal = await portalOf({ config_file: '~/prod.yml' }, {});
    const tokens = await portal.login(user.name);
    expect((await portal.prePun(user.name, tokens)).stderr).toContain('kubeconfig written');

    const next = await portal.prePun(user.name, tokens);

    expect(next.exitCode, next.stderr).toBe(0);
    expect(next.stderr).not.toContain('kubeconfig written');
  });

  it('outside of the home is an error of that cluster alone: the hook, plan and doctor report it', async () => {
    const user = await come('cf-out');
    const outside = join(user.home, '../of-all');
    const portal = await portalOf({ config_file: outside }, {});

    const { exitCode, stderr } = await portal.prePun(user.name, await portal.login(user.name));

    expect(exitCode).toBe(78);
    expect(errorLines(stderr)).toMatchObject([{ code: 'kubeconfig-outside-home' }]);
    expect(stderr).toMatch(/hint=".*config_file/);
    expect(existsSync(outside)).toBe(false);
    expect(await byAdapter(user, '$HOME/.kube/config', 'other')).toBe(`oidc:${user.name}`);
    const plan = await portal.berth('plan', '--user', user.name);
    expect(plan.exitCode).toBe(78);
    expect(plan.stderr + plan.stdout).toContain('outside of the home');
    const report = await runDoctor(portal, '--user', user.name);
    expect(wrong(report)).toEqual(['user-kubeconfig failed']);
    expect(failedKubeconfig(report).message).toContain('outside of the home');
  });

  it('behind a link that leads out of the home is refused, and nothing is written there', async () => {
    const user = await come('cf-link');
    const elsewhere = join(user.home, '../cf-link-elsewhere');
    await mkdir(elsewhere);
    await execa('chown', [user.name, elsewhere]);
    await symlink(elsewhere, join(user.home, 'ood'));
    try {
      const portal = await portalOf({ config_file: '$HOME/ood/deep/prod' }, {});
      const { exitCode, stderr } = await portal.prePun(user.name, await portal.login(user.name));
      expect(exitCode).toBe(78);
      expect(errorLines(stderr)).toMatchObject([{ code: 'kubeconfig-outside-home' }]);
      expect(existsSync(join(elsewhere, 'deep'))).toBe(false);
    } finally {
      await rm(elsewhere, { recursive: true });
    }
  });

  it('is checked by doctor as the user', async () => {
    const user = await come('cf-doc');
    const directory = join(user.home, 'ood');
    await mkdir(directory, { mode: 0o755 });
    const portal = await portalOf({ config_file: '$HOME/ood/prod' }, {});
    const closed = await runDoctor(portal, '--user', user.name);
    expect(wrong(closed)).toEqual(['user-kubeconfig failed']);
    expect(failedKubeconfig(closed).next).toContain(`namei -l ${directory}`);

    await writeFile(join(directory, 'prod'), 'users: [\n');
    await execa('chown', ['-R', user.name, directory]);
    const broken = await runDoctor(portal, '--user', user.name);
    expect(wrong(broken)).toEqual(['user-kubeconfig failed']);
    expect(failedKubeconfig(broken).message).toContain(join(directory, 'prod'));
  });
});
