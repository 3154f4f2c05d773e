import { readdir, readFile, writeFile } from 'node:fs/promises';
import { execa } from 'execa';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { codeBlocks } from '../../rig/markdown-pages.ts';
import { errorLines } from '../../rig/log-lines.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { TestUsers } from '../../rig/site/test-users.ts';
import {
  hookKubeconfig,
  type HookResult,
  installDirectory,
  Portal,
} from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';

let site: Site;
let cluster: LiveCluster;
let newcomers: TestUsers;
let portal: Portal;

/** The namespace of the management cluster, where Cluster API keeps its secrets. */
const fleet = 'berth-test-fleet';
const secret = 'research-kubeconfig';

/** Root's own file: the way to the management cluster is its current context, as with clusterctl. */
let management: string;

beforeAll(async () => {
  site = await openSite();
  cluster = new LiveCluster(site);
  newcomers = new TestUsers(cluster);
  await cluster.deleteNamespacesAndWait([fleet]);
  newcomers.alsoRemove(fleet);
  await cluster.kubectl(['create', 'namespace', fleet]);
  portal = await Portal.make(site, { clusters: { research: { auth: { type: 'managed' } } } });
  management = await managementKubeconfig();
  const { kubeconfig } = portal.files;
  const cluster_api = { kubeconfig, namespace: fleet, cluster: 'research' };
  await portal.writeBerth({ clusters: { research: { admin: { cluster_api } } } });
});

beforeEach(async () => {
  await writeFile(portal.files.kubeconfig, management, { mode: 0o600 });
  await keepSecret();
});

afterAll(async () => {
  await newcomers.removeNamespaces();
  await portal.remove();
});

/** Root's way into the management cluster: one account that may read this one secret. */
async function managementKubeconfig(): Promise<string> {
  const account = `${fleet}:reader`;
  await cluster.kubectl(['create', 'serviceaccount', 'reader', '-n', fleet]);
  await cluster.kubectl([
    ...['create', 'role', 'reader', '-n', fleet, '--verb=get', '--resource=secrets'],
    `--resource-name=${secret}`,
  ]);
  await cluster.kubectl([
    ...['create', 'rolebinding', 'reader', '-n', fleet, '--role=reader'],
    `--serviceaccount=${account}`,
  ]);
  const token = await cluster.kubectl(['create', 'token', 'reader', '-n', fleet]);
  return withToken(await hookKubeconfig(site), token.trim());
}

function withToken(kubeconfig: string, token: string): string {
  return stringify({
    ...(parse(kubeconfig) as object),
    users: [{ name: 'berth-hook', user: { token } }],
  });
}

/** As Cluster API writes it: a cluster-admin, certificates inline. */
async function keepSecret(): Promise<void> {
  await cluster.kubectl(
    ['apply', '-f', '-'],
    stringify({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: secret, namespace: fleet },
      type: 'cluster.x-k8s.io/secret',
      stringData: { value: await readFile(site.adminKubeconfig, 'utf8') },
    }),
  );
}

const withoutSecret = (): Promise<unknown> =>
  cluster.kubectl(['delete', 'secret', secret, '-n', fleet]);

const setUp = (...more: string[]): Promise<HookResult> =>
  portal.berth('token', 'setup', '--cluster', 'research', ...more);

interface RootsFile {
  readonly 'current-context': string;
  readonly contexts: readonly { readonly name: string }[];
  readonly users: readonly { readonly name: string; readonly user: { readonly token: string } }[];
}

async function rootsFile(): Promise<RootsFile> {
  return parse(await readFile(portal.files.kubeconfig, 'utf8')) as RootsFile;
}

async function tokenOfHook(): Promise<string> {
  const { users } = await rootsFile();
  return users.find(({ name }) => name === 'berth-hook@research')?.user.token ?? '';
}

describe('a cluster that Cluster API made', () => {
  it("is not accessed without the hook's token: login and plan say how to create it", async () => {
    const { name, namespace } = await newcomers.create('capi-ann');

    const { exitCode, stderr } = await portal.prePun(name);

    expect(exitCode).toBe(78);
    expect(errorLines(stderr)).toMatchObject([{ code: 'hook-token-missing', cluster: 'research' }]);
    expect(stderr).toMatch(/hint="Run `berth token setup --cluster research`/);
    expect(await cluster.get('namespace', namespace)).toBeUndefined();
    const plan = await portal.berth('plan', '--user', name);
    expect(plan.stdout + plan.stderr).toContain('berth token setup --cluster research');
  });

  it("issues the hook's token with the management cluster's secret, and logins use only that", async ({
    skip,
  }) => {
    const reason = site.skipReason('audit');
    skip(reason !== undefined, reason);
    const { name, namespace } = await newcomers.create('capi-bea');

    const setup = await setUp();
    expect(setup.exitCode, setup.stderr).toBe(0);
    expect(setup.stdout).toContain('user berth-hook@research');
    const mark = await site.audit.mark();
    const login = await portal.prePun(name);

    expect(login.exitCode, login.stderr).toBe(0);
    expect(login.stderr).toContain('msg="namespace created"');
    const events = await site.audit.since(mark);
    const where = new Set(
      events
        .filter(({ objectRef }) => [objectRef?.namespace, objectRef?.name].includes(namespace))
        .map(({ user }) => user.username)
        .filter((username) => !username.startsWith('system:serviceaccount:kube-system:')),
    );
    expect([...where]).toEqual(['system:serviceaccount:ondemand:berth-hook']);
    expect(events.filter(({ objectRef }) => objectRef?.name === secret)).toEqual([]);
    await withoutSecret();
    expect((await portal.prePun(name)).stderr).toContain('msg="namespace kept"');
    // The way to the management cluster is as it was, and still the file's current context.
    const { contexts, ...kept } = await rootsFile();
    expect(kept['current-context']).toBe('c');
    expect(contexts.map((context) => context.name)).toEqual(['c', 'berth-hook@research']);
  });

  it('is set up by the commands of the documentation', async () => {
    const { name } = await newcomers.create('capi-doc');
    const [block] = codeBlocks('docs/configuration.md').filter(({ text }) =>
      text.includes('umask'),
    );
    const script = (block?.text ?? '')
      .replaceAll('-n clusters', `--kubeconfig ${portal.files.kubeconfig} -n ${fleet}`)
      .replaceAll(/^kubectl\b/gm, site.kubectlPath)
      .replaceAll('etc/kubernetes', new URL('../../../etc/kubernetes', import.meta.url).pathname)
      .replaceAll('/usr/lib/berth', installDirectory)
      .replaceAll(/(token setup .*)/g, `$1 --config ${portal.files.berth}`);

    const run = await execa('bash', ['-euo', 'pipefail', '-c', script], {
      cwd: portal.directory,
      stdin: 'ignore',
      reject: false,
    });

    expect(run.exitCode, run.stderr).toBe(0);
    expect(await portal.prePun(name)).toMatchObject({ exitCode: 0 });
    expect(await readdir(portal.directory)).not.toContain('research.kubeconfig');
  });

  it('has its token renewed with the token itself, without the secret', async () => {
    expect(await setUp()).toMatchObject({ exitCode: 0 });
    const before = await tokenOfHook();
    await withoutSecret();

    const { exitCode, stderr } = await portal.berth('token', 'rotate');

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(await tokenOfHook()).not.toBe(before);
  });

  it('gets a new token with the secret if the token can no longer renew itself', async () => {
    const { name } = await newcomers.create('capi-cid');
    expect(await setUp()).toMatchObject({ exitCode: 0 });
    const file = await readFile(portal.files.kubeconfig, 'utf8');
    const [head = '', claims = ''] = (await tokenOfHook()).split('.');
    const dead = file.replace(await tokenOfHook(), `${head}.${claims}.c2ln`);
    await writeFile(portal.files.kubeconfig, dead, { mode: 0o600 });
    expect(errorLines((await portal.prePun(name)).stderr)).toMatchObject([
      { code: 'api-unauthorized' },
    ]);

    const { exitCode, stdout, stderr } = await portal.berth('token', 'rotate');

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toContain('research: ondemand/berth-hook has a new token');
    expect(await portal.prePun(name)).toMatchObject({ exitCode: 0 });
  });

  it('without a token of the hook gets none from the timer, which does not know the account', async () => {
    const { exitCode, stderr } = await portal.berth('token', 'rotate');
    expect(exitCode).toBe(78);
    expect(stderr).toContain('[hook-token-missing]');
    expect(stderr).toContain('next: Run `berth token setup --cluster research`');
  });

  it('reports a missing secret or a missing account of the hook', async () => {
    const missing = await setUp('--service-account', 'ondemand/not-there');
    expect(missing.exitCode).toBe(69);
    expect(missing.stderr).toMatch(/apply -k \S+\/share\/etc\/kubernetes;/);
    expect(missing.stderr).toContain(`-n ${fleet} get secret ${secret}`);
    await withoutSecret();
    const { exitCode, stderr } = await setUp();
    expect(exitCode).toBeGreaterThan(1);
    expect(stderr).toContain(`secret ${fleet}/${secret}`);
    expect(stderr).toContain('next: ');
    expect(await readFile(portal.files.kubeconfig, 'utf8')).toBe(management);
  });
});
