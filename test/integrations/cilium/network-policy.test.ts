import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { TestUsers, type TestUser } from '../../rig/site/test-users.ts';
import { ensureNode, type TestNode } from '../../rig/site/kubernetes-node/node.ts';
import { Portal } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import {
  execInPod,
  createAndWait,
  sleepingPod,
  type SleepingPod,
} from '../../rig/site/sleeping-pod.ts';
import { waitFor } from '../../rig/wait-for.ts';

let site: Site;
let node: TestNode;
let cluster: LiveCluster;
let newcomers: TestUsers;
let ada: TestUser;
let bob: TestUser;

/** In ada's namespace, with a web server. */
let server: SleepingPod;
let address: string;

beforeAll(async () => {
  site = await openSite();
  cluster = new LiveCluster(site);
  newcomers = new TestUsers(cluster);
  if (site.skipReason('node') !== undefined) return;
  node = await ensureNode(site);
  await node.enforceNetworkPolicies();

  const portal = await Portal.make(site, { clusters: { prod: { auth: { type: 'managed' } } } });
  ada = await newcomers.create('np-ada');
  bob = await newcomers.create('np-bob');
  for (const { name } of [ada, bob]) await portal.prePun(name);
  await portal.remove();
  await cluster.waitForControllers(ada.namespace, bob.namespace);

  server = await aPodOf(
    ada,
    'echo from ada >/tmp/index.html; exec python3 -m http.server -d /tmp 8080',
  );
  address = await addressOf(server);
}, 900_000);

beforeEach(({ skip }) => {
  const reason = site.skipReason('node');
  skip(reason !== undefined, reason);
});

afterAll(async () => {
  if (site.skipReason('node') !== undefined) return;
  await cluster.deleteNamespacesAndWait([ada.namespace, bob.namespace]);
  await node.stopEnforcingNetworkPolicies();
});

async function aPodOf({ namespace }: TestUser, script = 'exec sleep 600'): Promise<SleepingPod> {
  const command = ['sh', '-c', script];
  const pod = sleepingPod(await node.image('site'), namespace, {}, { command });
  await createAndWait(cluster, pod);
  return pod;
}

async function addressOf({ metadata: { name, namespace } }: SleepingPod): Promise<string> {
  return cluster.kubectl(['get', 'pod', name, '-n', namespace, '-ojsonpath={.status.podIP}']);
}

/** What the web server says to this pod; undefined when no answer comes within 2 s. */
async function heardBy(pod: SleepingPod): Promise<string | undefined> {
  const command = ['nc', '-w', '2', address, '8080'];
  const { exitCode, stdout } = await execInPod(site, pod, command, 'GET / HTTP/1.0\r\n\r\n');
  return exitCode === 0 ? stdout.split('\n').at(-1) : undefined;
}

/** As soon as the server listens, which is a moment after its pod is Ready. */
function heardAtLast(pod: SleepingPod): Promise<string> {
  return waitFor({ what: `${address} to answer`, timeoutMs: 60_000 }, () => heardBy(pod));
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
