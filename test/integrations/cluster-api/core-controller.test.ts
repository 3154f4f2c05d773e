import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Daemon } from '../../rig/addresses/daemon.ts';
import { coreController, coreCrds } from '../../rig/site/cluster-api/build.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { freePorts } from '../../rig/free-ports.ts';
import { type HookResult, Portal } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { TestUsers } from '../../rig/site/test-users.ts';
import { waitFor } from '../../rig/wait-for.ts';

vi.setConfig({ hookTimeout: 1_200_000 });

const namespace = 'berth-test-capi-core';
const name = 'made';
const tokensOfAccounts = new URL('../../../etc/kubernetes/service-account-tokens', import.meta.url)
  .pathname;

let site: Site;
let cluster: LiveCluster;
let users: TestUsers;
let portal: Portal;
let directory: string;
let core: Daemon | undefined;

beforeAll(async () => {
  site = await openSite();
  cluster = new LiveCluster(site);
  users = new TestUsers(cluster);
  await cluster.deleteNamespacesAndWait([namespace]);
  const binary = await coreController();
  const files = (await coreCrds()).flatMap((file) => ['-f', file]);
  await cluster.applyCrds(files);
  await cluster.kubectl(['create', 'namespace', namespace]);
  directory = await mkdtemp(join(tmpdir(), 'berth-cluster-api-'));
  const webhooks = await site.certificates.server('cluster-api-webhooks');
  const { webhook } = await freePorts(['webhook']);
  core = await Daemon.start(
    ['env', `KUBECONFIG=${site.adminKubeconfig}`],
    [
      ...[binary, `--namespace=${namespace}`, '--health-addr=127.0.0.1:0'],
      ...['--diagnostics-address=127.0.0.1:0', '--insecure-diagnostics'],
      ...[`--webhook-port=${webhook}`, `--webhook-cert-dir=${dirname(webhooks.cert)}`],
      ...[`--webhook-cert-name=${fileName(webhooks.cert)}`],
      ...[`--webhook-key-name=${fileName(webhooks.key)}`],
    ],
    join(directory, 'core.log'),
  );
  portal = await Portal.make(site, { clusters: {} });
});
afterAll(async () => {
  await cluster.kubectl(['delete', 'cluster', '--all', '-n', namespace, '--timeout=30s']);
  await core?.stop();
  await cluster.kubectl(['delete', '--ignore-not-found', '-k', tokensOfAccounts]);
  await users.removeNamespaces();
  await cluster.deleteNamespacesAndWait([namespace]);
  const files = (await coreCrds()).flatMap((file) => ['-f', file]);
  await cluster.kubectl(['delete', '--ignore-not-found', ...files]);
  await portal.remove();
  await rm(directory, { recursive: true });
});

const fileName = (path: string): string => path.slice(dirname(path).length + 1);

const discover = (...more: string[]): Promise<HookResult> =>
  portal.berth(
    ...['clusters', 'discover', '--kubeconfig', site.adminKubeconfig, '--namespace', namespace],
    ...['--clusters-dir', portal.files.clustersDir, '--ca-dir', join(portal.directory, 'cas')],
    ...more,
  );

/** The kubeconfig that the controller made; PEM and certificates in base64. */
async function kubeconfig(): Promise<string> {
  const waiting = {
    what: `the Secret ${name}-kubeconfig`,
    timeoutMs: 60_000,
    alive: async () => core?.assertRunning(),
  };
  return waitFor(waiting, async () => {
    const secret = (await cluster.get('secret', `${name}-kubeconfig`, namespace)) as
      { readonly data: { readonly value: string } } | undefined;
    return secret === undefined ? undefined : Buffer.from(secret.data.value, 'base64').toString();
  });
}

describe("a Cluster of Cluster API's own controller", () => {
  it('is found when the controller has made its kubeconfig, and not before', async () => {
    const { hostname: host, port } = new URL(site.server);
    await cluster.create({
      apiVersion: 'cluster.x-k8s.io/v1beta2',
      kind: 'Cluster',
      metadata: { name, namespace },
      spec: { controlPlaneEndpoint: { host, port: Number(port) } },
    });
    expect((await discover('--dry-run')).stdout).toContain('no Secret with its kubeconfig yet');
    const ca = site.certificates.cert;
    await cluster.create({
      ...{ apiVersion: 'v1', kind: 'Secret', type: 'cluster.x-k8s.io/secret' },
      metadata: {
        name: `${name}-ca`,
        namespace,
        labels: { 'cluster.x-k8s.io/cluster-name': name },
      },
      stringData: {
        'tls.crt': await readFile(ca, 'utf8'),
        'tls.key': await readFile(join(dirname(ca), 'ca.key'), 'utf8'),
      },
    });
    const admin = join(directory, 'admin.conf');
    await writeFile(admin, await kubeconfig(), { mode: 0o600 });
    const { stdout } = await discover();
    expect(stdout).toContain(`next: berth token setup --cluster ${name}`);
    // Its API server is not known to take the portal's tokens, so that the hook makes tokens of accounts.
    const [, rights = ''] = /next: on made, as its admin: kubectl (apply -k .*)/.exec(stdout) ?? [];
    const applied = await execa(site.kubectlPath, ['--kubeconfig', admin, ...rights.split(' ')]);
    expect(applied.stdout).toContain('created');
    expect(await readFile(join(portal.directory, 'cas', `${name}.pem`), 'utf8')).toBe(
      await readFile(ca, 'utf8'),
    );
  });

  it('lets its users in with the certificate that the controller has issued', async () => {
    const token = await portal.berth('token', 'setup', '--cluster', name);
    expect(token, token.stderr).toMatchObject({ exitCode: 0 });
    const user = await users.create('capi-eva');
    await site.keycloak.addUser(user.name);
    const login = await portal.prePun(user.name, await portal.login(user.name));
    expect(login, login.stderr).toMatchObject({ exitCode: 0 });
    expect(await cluster.get('namespace', user.namespace)).toBeDefined();
  });

  it('is still there after its kubeconfig was made anew, and gone after its deletion', async () => {
    const before = await kubeconfig();
    await cluster.kubectl(['delete', 'secret', `${name}-kubeconfig`, '-n', namespace]);
    // The controller does not watch Secrets; without a change it looks again after ten minutes.
    await cluster.kubectl(['annotate', 'cluster', name, 'example.org/look=again', '-n', namespace]);
    expect(await kubeconfig()).not.toBe(before);
    expect((await discover()).stdout).toContain('unchanged');
    expect((await portal.berth('token', 'setup', '--cluster', name)).exitCode).toBe(0);
    await cluster.kubectl(['delete', 'cluster', name, '-n', namespace, '--timeout=30s']);
    expect((await discover('--allow-none')).stdout).toContain('removed');
    expect(await readdir(portal.files.clustersDir)).toEqual([]);
  });
});
