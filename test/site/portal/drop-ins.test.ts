import { existsSync } from 'node:fs';
import { cp, mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { errorLines } from '../../rig/log-lines.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { TestUsers } from '../../rig/site/test-users.ts';
import {
  installDirectory,
  Portal,
  pullSecretName,
  type HookResult,
  type PortalTokens,
} from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';

/** What this mode needs beside `kubectl apply -k etc/kubernetes`. */
const tokensOfUsers = new URL('../../../etc/kubernetes/service-account-tokens', import.meta.url)
  .pathname;

let site: Site;
let cluster: LiveCluster;
let newcomers: TestUsers;
let portal: Portal;
let host: string;

/** Where the hook keeps its state unless told; something must be there to mount over. */
const stateDir = '/var/lib/berth';
let madeStateDir = false;

beforeAll(async () => {
  site = await openSite();
  cluster = new LiveCluster(site);
  newcomers = new TestUsers(cluster);
  portal = await Portal.make(site, { hookEnv: { CLIENT_ID: 'kubernetes-public' } });
  host = join(portal.directory, 'host');
  // An OnDemand host with OSC's hooks: clusters.d, root's kubeconfig, and hook.env wherever it is.
  await mkdir(join(host, 'etc/ood/config'), { recursive: true });
  await cp(portal.files.clustersDir, join(host, 'etc/ood/config/clusters.d'), { recursive: true });
  await mkdir(join(host, 'root/.kube'), { recursive: true });
  await cp(portal.files.kubeconfig, join(host, 'root/.kube/config'));
  await mkdir(join(host, 'state'));
  madeStateDir = (await mkdir(stateDir, { recursive: true })) !== undefined;
});

afterAll(async () => {
  if (madeStateDir) await rmdir(stateDir);
  await newcomers.removeNamespaces();
  await portal.remove();
});

/**
 * Runs a hook as OSC's wrapper runs its scripts, with two words, on a host whose /etc and /root are
 * as `host` has them: a mount namespace of its own, nothing of this machine is changed.
 */
async function asOnHost(
  hook: string,
  words: readonly string[],
  tokens: PortalTokens = {},
): Promise<HookResult> {
  const over = async (target: string): Promise<string> => {
    const [upper, work] = [join(host, target), join(host, `.work-${target}`)];
    await mkdir(work, { recursive: true });
    return `mount -t overlay overlay -o lowerdir=/${target},upperdir=${upper},workdir=${work} /${target}`;
  };
  const script = [
    await over('etc'),
    `mount --bind ${join(host, 'root')} /root`,
    `mount --bind ${join(host, 'state')} ${stateDir}`,
    'exec "$@"',
  ].join(' && ');
  const { exitCode, stdout, stderr } = await execa(
    'unshare',
    ['--mount', 'sh', '-c', script, 'sh', join(installDirectory, hook), ...words],
    { reject: false, extendEnv: false, env: portal.environment(tokens), cwd: '/', input: '' },
  );
  return { exitCode: exitCode ?? -1, stdout, stderr };
}

describe("in the place of OSC's k8s-bootstrap-ondemand.sh", () => {
  it("USER HOOK_ENV makes the user's objects, with nothing but OnDemand's own files", async () => {
    const { name, namespace, home } = await newcomers.create('di-ann');

    const { exitCode, stdout, stderr } = await asOnHost('hooks/k8s-bootstrap', [
      name,
      portal.files.hookEnv,
    ]);

    expect(stderr).toMatch(
      new RegExp(`msg="namespace created" user=${name} session=\\S+ cluster=prod`),
    );
    expect([exitCode, stdout]).toEqual([0, '']);
    expect(await cluster.get('rolebinding', `${name}-ood-user`, namespace)).toMatchObject({
      // A site without berth.yml has no prefix to tell.
      subjects: [{ kind: 'User', name }],
    });
    expect(await cluster.get('secret', pullSecretName, namespace)).toBeDefined();
    expect(existsSync(join(home, '.kube'))).toBe(false);
  });

  it("takes Berth's settings from /etc/berth/berth.yml, and hook.env from its argument", async () => {
    const { name, namespace } = await newcomers.create('di-bea');
    await mkdir(join(host, 'etc/berth'), { recursive: true });
    const berth = parse(await readFile(portal.files.berth, 'utf8')) as object;
    const elsewhere = {
      ...berth,
      hook_env: '/nowhere',
      clusters_dir: '/etc/ood/config/clusters.d',
    };
    await writeFile(join(host, 'etc/berth/berth.yml'), JSON.stringify(elsewhere));

    const { exitCode } = await asOnHost('hooks/k8s-bootstrap', [name, portal.files.hookEnv]);

    expect(exitCode).toBe(0);
    expect(await cluster.get('rolebinding', `${name}-ood-user`, namespace)).toMatchObject({
      subjects: [{ kind: 'User', name: `oidc:${name}` }],
    });
  });
});

describe("in the place of OSC's set-k8s-creds.sh", () => {
  it("USER HOOK_ENV writes the user's credentials, and makes no object", async () => {
    const { name, namespace, home } = await newcomers.create('di-cas');
    await site.keycloak.addUser(name);

    const { exitCode, stdout, stderr } = await asOnHost(
      'hooks/set-k8s-creds',
      [name, portal.files.hookEnv],
      await portal.login(name),
    );

    expect(stderr).toContain('msg="kubeconfig written"');
    expect([exitCode, stdout]).toEqual([0, '']);
    expect(await cluster.get('namespace', namespace)).toBeUndefined();
    const kubeconfig = join(home, '.kube/config');
    const own = ['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}'];
    expect(await site.kubectl(own, { account: name, kubeconfig })).toMatchObject({
      stdout: `oidc:${name}`,
    });
  });
});

describe('both, on a site without an identity provider', () => {
  beforeAll(async () => {
    await site.kubectl(['apply', '-k', tokensOfUsers]);
    const berth = parse(await readFile(portal.files.berth, 'utf8')) as { defaults: object };
    const defaults = { ...berth.defaults, credentials: { mode: 'service-account' } };
    await mkdir(join(host, 'etc/berth'), { recursive: true });
    await writeFile(join(host, 'etc/berth/berth.yml'), JSON.stringify({ ...berth, defaults }));
  });

  afterAll(async () => {
    await site.kubectl(['delete', '-k', tokensOfUsers]);
  });

  it('set-k8s-creds alone says that k8s-bootstrap comes first, and writes nothing', async () => {
    const { name, home } = await newcomers.create('di-dan');

    const { exitCode, stderr } = await asOnHost('hooks/set-k8s-creds', [
      name,
      portal.files.hookEnv,
    ]);

    expect(errorLines(stderr)).toMatchObject([
      {
        code: 'namespace-missing',
        cluster: 'prod',
        hint: expect.stringContaining('k8s-bootstrap') as unknown,
      },
    ]);
    expect(exitCode).toBe(69);
    expect(existsSync(join(home, '.kube/config'))).toBe(false);
  });

  it('then give the user a token of the user’s ServiceAccount', async () => {
    const { name, namespace, home } = await newcomers.create('di-eve');
    const words = [name, portal.files.hookEnv];

    const made = await asOnHost('hooks/k8s-bootstrap', words);
    const given = await asOnHost('hooks/set-k8s-creds', words);

    expect([made.exitCode, given.exitCode], made.stderr + given.stderr).toEqual([0, 0]);
    expect(given.stderr).toContain('msg="kubeconfig written"');
    const kubeconfig = join(home, '.kube/config');
    const own = ['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}'];
    expect(await site.kubectl(own, { account: name, kubeconfig })).toMatchObject({
      stdout: `system:serviceaccount:${namespace}:berth-user`,
    });
  });

  it('give no token to another user whose name maps to the same namespace', async () => {
    const [first, second] = await newcomers.createAll(['di-f.o', 'di-f-o']);
    const files = portal.files.hookEnv;
    await asOnHost('hooks/k8s-bootstrap', [String(first?.name), files]);

    const { exitCode, stderr } = await asOnHost('hooks/set-k8s-creds', [
      String(second?.name),
      files,
    ]);

    expect(errorLines(stderr)).toMatchObject([{ code: 'namespace-owned-by-another-user' }]);
    expect(exitCode).toBe(77);
    expect(existsSync(join(String(second?.home), '.kube/config'))).toBe(false);
  });
});

describe.each(['k8s-bootstrap', 'set-k8s-creds'])('%s', (hook) => {
  it.each([
    ['no user', []],
    ['no hook.env', ['di-ann']],
    ['a word too many', ['di-ann', '/dev/null', 'x']],
  ])('refuses %s with an exit code of its own', async (_, words) => {
    const { exitCode, stderr } = await asOnHost(`hooks/${hook}`, words);

    expect(exitCode).toBe(64);
    expect(stderr).toMatch(/^level=error msg=.* code=usage /);
  });
});
