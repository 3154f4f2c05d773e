import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Hub } from '../../rig/jupyterhub/hub.ts';
import { ldapPassword, startHubDirectory } from '../../rig/jupyterhub/hub-directory.ts';
import { hubEnvironment } from '../../rig/jupyterhub/hub-environment.ts';
import type { HubUser } from '../../rig/jupyterhub/hub-user.ts';
import { hubKey, installHub, removeHub } from '../../rig/jupyterhub/install-hub.ts';
import { startPodHost, type PodHost } from '../../rig/login-node/pod-host.ts';
import { ensureAccount } from '../../rig/site/accounts.ts';
import { ensureNode } from '../../rig/site/kubernetes-node/node.ts';
import { LiveCluster, type LiveObject } from '../../rig/site/live-cluster.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { readerAccount, type Slapd } from '../../rig/slapd.ts';
import { waitFor } from '../../rig/wait-for.ts';

const user = 'nb-large';
const namespace = `u-${user}`;

let site: Site;
let cluster: LiveCluster;
let slapd: Slapd;
let login: PodHost;
let hub: Hub;
let page: HubUser;

beforeAll(async () => {
  site = await openSite();
  cluster = new LiveCluster(site);
  const node = await ensureNode(site);
  await node.routePods();
  await installHub(site);
  await cluster.deleteNamespacesAndWait([namespace]);
  const directory = await startHubDirectory(site, [await ensureAccount(user)]);
  slapd = directory.slapd;
  login = await startPodHost(site, {
    mode: 'forced',
    users: { [user]: [] },
    berth: { defaults: hubKey, ldap: directory.ldap },
    mounts: [{ source: await hubEnvironment(), target: '/opt/jupyter', read_only: true }],
    profile: {
      environment: { set: { PYTHONPATH: '/opt/jupyter', PATH: '/opt/jupyter/bin:/usr/bin:/bin' } },
      limits: { cpus: 0.5, memory: '512M' },
    },
  });
  const place = await Hub.makeDirectory();
  const { exitCode, stdout, stderr } = await login.host.asRoot([
    ...[`${installDirectory}/berth`, 'render', 'jupyterhub', 'base'],
    ...['--socket', Hub.socketIn(place), '--login', 'ldap'],
    ...['--ldap-password-file', Hub.secretIn(place, 'ldap-password')],
  ]);
  expect([exitCode, stderr]).toEqual([0, '']);
  hub = await Hub.start(place, {
    portal: login.portal,
    config: stdout.toString(),
    address: node.machineAddress,
    secrets: { 'ldap-password': readerAccount.password },
    lines: [],
  });
  page = await hub.login(user, ldapPassword);
  await page.startServer({ profile: 'base' });
});
afterAll(async () => {
  await (hub as Hub | undefined)?.stop();
  await login.stop();
  await slapd.remove();
  await removeHub(site);
  await cluster.deleteNamespaces([namespace]);
});

/** The API server writes each `<` as six bytes. */
const ownerReferences = [
  { apiVersion: 'x.example/v1', kind: 'X', uid: 'u', name: '<'.repeat(1_250_000) },
];

/** What a user can send and `kubectl create -f` cannot, which writes six bytes for each `<` itself. */
async function send(verb: 'create' | 'replace', path: string, object: object): Promise<void> {
  const { exitCode, stderr } = await site.kubectl([verb, '--raw', path, '-f', '-'], {
    input: JSON.stringify(object),
  });
  expect(exitCode, stderr).toBe(0);
}

const pods = `/api/v1/namespaces/${namespace}/pods`;

it('a hub reads no pod of a user but that of the server', async () => {
  const largestMiB = () =>
    Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${hub.pid}/status`, 'utf8'))?.[1]) / 1024;
  const before = largestMiB();
  for (let n = 0; n < 20; n++)
    await send('create', pods, {
      ...{ apiVersion: 'v1', kind: 'Pod' },
      metadata: { name: `large-${n}`, labels: { component: 'singleuser-server' }, ownerReferences },
      spec: { nodeSelector: { no: 'where' }, containers: [{ name: 'a', image: 'x' }] },
    });

  await page.stopServer();
  await page.startServer({ profile: 'base' });
  // The hub asks for a running server each 30 seconds.
  await sleep(35_000);

  expect(largestMiB() - before).toBeLessThan(100);
  await cluster.kubectl(['delete', 'pods', '-n', namespace, '-l', '!hub.jupyter.org/username']);
});

it('a server ends whose pod its user makes too large to be watched, and its route with it', async () => {
  const route = () => hub.routeOf(user).catch(() => undefined);
  const text = await cluster.kubectl(['get', 'pods', '-n', namespace, '-o', 'json']);
  const [pod] = (JSON.parse(text) as { items: LiveObject[] }).items;
  const name = pod?.metadata.name ?? '';
  expect(await route()).toBeDefined();

  await send('replace', `${pods}/${name}`, {
    ...pod,
    metadata: { ...pod?.metadata, ownerReferences },
  });

  // Less than the 30 seconds after which the hub asks.
  await waitFor({ what: 'the end of the route', timeoutMs: 15_000 }, async () =>
    (await route()) === undefined ? true : undefined,
  );
  await waitFor({ what: 'the end of the pod', timeoutMs: 60_000 }, async () =>
    (await cluster.get('pod', name, namespace)) === undefined ? true : undefined,
  );
  expect(await hub.log()).toContain(`its pod ${name} is too large to be watched`);
});
