import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { Newcomers, type Newcomer } from '../../rig/site/newcomers.ts';
import { ensureNode, type TestNode } from '../../rig/site/node/node.ts';
import { Portal } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { exec, runs, sleeper, type Sleeper } from '../../rig/site/sleeper.ts';
import { waitFor } from '../../rig/site/wait.ts';

let site: Site;
let node: TestNode;
let cluster: LiveCluster;
let newcomers: Newcomers;
let ada: Newcomer;
let bob: Newcomer;

/** In ada's namespace, with a web server. */
let server: Sleeper;
let address: string;

beforeAll(async () => {
  site = await openSite();
  cluster = new LiveCluster(site);
  newcomers = new Newcomers(cluster);
  if (site.skipped('node') !== undefined) return;
  node = await ensureNode(site);
  await node.enforceNetworkPolicies();

  const portal = await Portal.make(site, { clusters: { prod: { auth: { type: 'managed' } } } });
  ada = await newcomers.come('np-ada');
  bob = await newcomers.come('np-bob');
  for (const { name } of [ada, bob]) await portal.prePun(name);
  await portal.remove();
  await cluster.settled(ada.namespace, bob.namespace);

  server = await aPodOf(
    ada,
    'echo from ada >/tmp/index.html; exec python3 -m http.server -d /tmp 8080',
  );
  address = await addressOf(server);
}, 900_000);

beforeEach(({ skip }) => {
  const reason = site.skipped('node');
  skip(reason !== undefined, reason);
});

afterAll(async () => {
  if (site.skipped('node') !== undefined) return;
  await cluster.namespacesGone([ada.namespace, bob.namespace]);
  await node.ignoreNetworkPolicies();
});

async function aPodOf({ namespace }: Newcomer, script = 'exec sleep 600'): Promise<Sleeper> {
  const command = ['sh', '-c', script];
  const pod = sleeper(await node.image('site'), namespace, {}, { command });
  await runs(cluster, pod);
  return pod;
}

async function addressOf({ metadata: { name, namespace } }: Sleeper): Promise<string> {
  return cluster.kubectl(['get', 'pod', name, '-n', namespace, '-ojsonpath={.status.podIP}']);
}

/** What the web server says to this pod; undefined when no answer comes within 2 s. */
async function heardBy(pod: Sleeper): Promise<string | undefined> {
  const command = ['nc', '-w', '2', address, '8080'];
  const { exitCode, stdout } = await exec(site, pod, command, 'GET / HTTP/1.0\r\n\r\n');
  return exitCode === 0 ? stdout.split('\n').at(-1) : undefined;
}

/** As soon as the server listens, which is a moment after its pod is Ready. */
function heardAtLast(pod: Sleeper): Promise<string> {
  return waitFor({ what: `${address} to answer`, timeoutMs: 20_000 }, () => heardBy(pod));
}

describe("the NetworkPolicy of a user's namespace, enforced by Cilium", () => {
  it('lets pods of one user talk to each other', async () => {
    const neighbour = await aPodOf(ada);

    expect(await heardAtLast(neighbour)).toBe('from ada');
  });

  it("keeps another user's pods out, and nothing else does", async () => {
    const stranger = await aPodOf(bob);
    expect(await heardAtLast(server)).toBe('from ada');

    expect(await heardBy(stranger)).toBeUndefined();

    await cluster.delete('networkpolicy', 'deny-from-other-namespaces', ada.namespace);
    expect(await heardAtLast(stranger)).toBe('from ada');
  });
});
