import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { codeBlocks } from '../../rig/markdown-pages.ts';
import { ensureNode, type TestNode } from '../../rig/site/kubernetes-node/node.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { Portal } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import {
  createAndWait,
  execInPod,
  sleepingPod,
  type SleepingPod,
} from '../../rig/site/sleeping-pod.ts';
import { TestUsers, type TestUser } from '../../rig/site/test-users.ts';
import { waitFor } from '../../rig/wait-for.ts';

let site: Site;
let node: TestNode;
let cluster: LiveCluster;
let newcomers: TestUsers;
let portal: Portal;
let eve: TestUser;

const component = new URL('../../../etc/kubernetes/jupyterhub', import.meta.url).pathname;
const hubNamespace = 'jupyterhub';
const kubelet = 10_250;

/** Answers "here" on these ports, with TCP and with UDP. */
const answering = (...ports: readonly number[]): string => `exec python3 -c '
import socket, threading
def udp(port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("", port))
        while True:
            _, peer = s.recvfrom(99)
            s.sendto(b"here", peer)
def tcp(port):
    with socket.create_server(("", port)) as s:
        while True:
            s.accept()[0].sendall(b"here")
for port in [${ports.join()}]:
    threading.Thread(target=udp, args=(port,)).start()
    threading.Thread(target=tcp, args=(port,)).start()
'`;

/** Prints the first answer, or fails within two seconds. */
const ask = `
import socket, sys
address, port, kind = sys.argv[1], int(sys.argv[2]), sys.argv[3]
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM) as s:
    s.settimeout(2)
    s.connect((address, port))
    s.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
    print(s.recv(99).decode().split()[0])
`;

/** Of the machine, which is not in the cluster. */
const servers: Server[] = [];
let allowed: number;
let other: number;

let client: SleepingPod;
let unlimited: SleepingPod;
let neighbour: string;
let dns: string;
let hub: string;
let stranger: string;

beforeAll(async () => {
  site = await openSite();
  cluster = new LiveCluster(site);
  newcomers = new TestUsers(cluster);
  if (site.skipReason('node') !== undefined) return;
  node = await ensureNode(site);
  await node.enforceNetworkPolicies();
  [allowed, other] = [await listen(), await listen()];

  eve = await newcomers.create('eg-eve');
  newcomers.alsoRemove(hubNamespace);
  await cluster.deleteNamespacesAndWait([hubNamespace]);
  await cluster.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: hubNamespace } });
  await cluster.kubectl(['apply', '-k', component]);
  portal = await Portal.make(site, {
    clusters: { prod: { auth: { type: 'managed' } } },
    berth: {
      defaults: {
        jupyterhub: { namespace: hubNamespace, service_account: 'hub' },
        network_egress: {
          networks: [
            { cidr: `${node.machineAddress}/32`, ports: [allowed] },
            { cidr: `${node.address}/32` },
          ],
        },
      },
    },
  });
  await waitFor({ what: 'the right to bind the role of the hub', timeoutMs: 60_000 }, login);
  await cluster.waitForControllers(eve.namespace, hubNamespace);

  [client, unlimited, neighbour, hub, stranger, dns] = await Promise.all([
    aPod(eve.namespace),
    aPod(hubNamespace),
    aPod(eve.namespace, answering(8080)).then(addressOf),
    aPod(hubNamespace, answering(8081)).then(addressOf),
    aPod('default', answering(8080)).then(addressOf),
    aPod('kube-system', answering(53, 8080), { 'k8s-app': 'kube-dns' }).then(addressOf),
  ]);
}, 900_000);

beforeEach(({ skip }) => {
  const reason = site.skipReason('node');
  skip(reason !== undefined, reason);
});

afterAll(async () => {
  for (const server of servers) server.close();
  if (site.skipReason('node') !== undefined) return;
  for (const namespace of ['default', 'kube-system'])
    await cluster.kubectl(['delete', 'pod', '-n', namespace, '-l', 'berth.dev/egress-test']);
  await cluster.kubectl(['delete', '--ignore-not-found', '-k', component]);
  await cluster.deleteNamespacesAndWait([eve.namespace, hubNamespace]);
  await portal.remove();
  await node.stopEnforcingNetworkPolicies();
});

async function login(): Promise<true | undefined> {
  return (await portal.prePun(eve.name)).exitCode === 0 ? true : undefined;
}

async function listen(): Promise<number> {
  const server = createServer((_, response) => response.end());
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, node.machineAddress, resolve));
  return (server.address() as AddressInfo).port;
}

async function aPod(
  namespace: string,
  script = 'exec sleep 600',
  labels: Readonly<Record<string, string>> = {},
): Promise<SleepingPod> {
  const command = ['sh', '-c', script];
  const pod = sleepingPod(await node.image('site'), namespace, {}, { command });
  const metadata = { ...pod.metadata, labels: { 'berth.dev/egress-test': '', ...labels } };
  await createAndWait(cluster, { ...pod, metadata });
  return pod;
}

async function addressOf({ metadata: { name, namespace } }: SleepingPod): Promise<string> {
  return cluster.kubectl(['get', 'pod', name, '-n', namespace, '-ojsonpath={.status.podIP}']);
}

async function answer(
  from: SleepingPod,
  address: string,
  port: number,
  kind = 'tcp',
): Promise<string | undefined> {
  const command = ['python3', '-c', ask, address, String(port), kind];
  const { exitCode, stdout } = await execInPod(site, from, command);
  return exitCode === 0 ? stdout.trim() : undefined;
}

/** As soon as the server listens, which is a moment after its pod is Ready. */
async function waitForAnswer(address: string, port: number): Promise<void> {
  await waitFor({ what: `${address}:${port} to answer`, timeoutMs: 60_000 }, () =>
    answer(unlimited, address, port),
  );
}

describe('network_egress, enforced by Cilium, lets the pods of a user reach', () => {
  it('each other', async () => {
    await waitFor({ what: 'the neighbour', timeoutMs: 60_000 }, () =>
      answer(client, neighbour, 8080),
    );
  });

  it('the DNS of the cluster, by UDP and TCP, and no other port of it', async () => {
    await waitForAnswer(dns, 8080);

    expect(await answer(client, dns, 53, 'udp')).toBe('here');
    expect(await answer(client, dns, 53)).toBe('here');
    expect(await answer(client, dns, 8080)).toBeUndefined();
  });

  it('the hub, whose namespace reaches them too', async () => {
    await waitForAnswer(hub, 8081);

    expect(await answer(client, hub, 8081)).toBe('here');
    expect(await answer(unlimited, neighbour, 8080)).toBe('here');
  });

  it('a network of the site, and no other port of it', async () => {
    const { machineAddress } = node;
    await waitForAnswer(machineAddress, other);

    expect(await answer(client, machineAddress, allowed)).toBe('HTTP/1.1');
    expect(await answer(client, machineAddress, other)).toBeUndefined();
  });

  it('a node of the cluster only with the policy of Cilium that docs/configuration.md has', async () => {
    const [block] = codeBlocks('docs/configuration.md').filter(({ text }) =>
      text.startsWith('# An API server on a node, for Cilium'),
    );
    // This node has a kubelet, and no API server.
    const policy = block?.text.replace('kube-apiserver', 'host') ?? '';
    expect(await answer(client, node.address, kubelet)).toBeUndefined();

    await cluster.kubectl(['create', '-f', '-'], policy);
    const found = { what: 'the policy of Cilium', timeoutMs: 60_000 };
    expect(await waitFor(found, () => answer(client, node.address, kubelet))).toBe('HTTP/1.0');
    expect(await answer(client, stranger, 8080)).toBeUndefined();
    await cluster.kubectl(['delete', '-f', '-'], policy);
  });

  it('no other pod, and everything once the key is gone', async () => {
    await waitForAnswer(stranger, 8080);
    expect(await answer(client, stranger, 8080)).toBeUndefined();

    await portal.writeBerth();
    await login();

    const found = { what: 'the limit to be gone', timeoutMs: 60_000 };
    expect(await waitFor(found, () => answer(client, stranger, 8080))).toBe('here');
    expect(await answer(client, node.machineAddress, other)).toBe('HTTP/1.1');
  });
});
