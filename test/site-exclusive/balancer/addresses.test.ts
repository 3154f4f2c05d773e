import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { balancerImage } from '../../rig/addresses/balancer-image.ts';
import { externalDnsBinary } from '../../rig/addresses/external-dns/build.ts';
import { startKubeProxy } from '../../rig/addresses/kube-proxy/kube-proxy.ts';
import { LanClient } from '../../rig/addresses/lan-client.ts';
import { startMetallb } from '../../rig/addresses/metallb/metallb.ts';
import { NameServer } from '../../rig/addresses/name-server.ts';
import { connectToLan } from '../../rig/addresses/pod-lan.ts';
import { ensureProgramImage } from '../../rig/addresses/program-image.ts';
import { TestNetwork } from '../../rig/balancer/test-network.ts';
import { LiveSession } from '../../rig/login-node/live-session.ts';
import { SshHost } from '../../rig/login-node/ssh-host.ts';
import { ensureNode, type TestNode } from '../../rig/site/kubernetes-node/node.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { openSite } from '../../rig/site/site.ts';
import { waitFor } from '../../rig/site/wait.ts';

const name = 'login.example.org';
const address = '192.0.2.100';
const etc = new URL('../../../etc/', import.meta.url).pathname;
const site = await openSite();

describe.skipIf(site.skipReason('node'))('a name in DNS and an address of MetalLB', () => {
  const cluster = new LiveCluster(site);
  const undo: (() => Promise<void>)[] = [];
  const nodes: SshHost[] = [];
  let node: TestNode;
  let network: TestNetwork;
  let nameServer: NameServer;
  let client: LanClient;

  beforeAll(async () => {
    const directory = await mkdtemp(join(tmpdir(), 'berth-addresses-'));
    undo.push(() => rm(directory, { recursive: true }));
    node = await ensureNode(site);
    network = await TestNetwork.make([53, 77]);
    undo.push(() => network.remove());
    for (const [index, host] of ['login1', 'login2'].entries()) {
      const place = await network.addNode(11 + index);
      const [first] = nodes;
      const beside = first === undefined ? { users: { ada: [] } } : { beside: first };
      const started = await SshHost.start({
        ...{ mode: 'plain', name: host, images: false },
        ...{ ...place, ...beside },
      });
      nodes.push(started);
      undo.push(() => started.stop());
    }
    const lan = await connectToLan(node, network, '192.0.2.30');
    undo.push(() => lan.disconnect());
    const proxy = await startKubeProxy(site, node, directory);
    undo.push(() => proxy.stop());
    const metallb = await startMetallb(site, cluster, node);
    undo.push(() => metallb.stop());
    const dns = join(directory, 'dns');
    await mkdir(dns);
    nameServer = await NameServer.start(network.path, dns);
    undo.push(() => nameServer.stop());
    const { image, archive } = await balancerImage();
    if (!(await node.hasImage(image))) await node.importImage(archive);
    await ensureProgramImage(node, {
      image: 'registry.k8s.io/external-dns/external-dns:v0.23.0',
      program: await externalDnsBinary(),
      path: '/bin/external-dns',
    });
    undo.push(async () => {
      const inNamespace = ['-n', 'ssh-balancer', '--all', '--wait=false'];
      await cluster.kubectl(['delete', 'deployments', ...inNamespace]);
      await cluster.kubectl(['delete', 'pods', '--grace-period=1', ...inNamespace]);
      await cluster.deleteNamespacesAndWait(['ssh-balancer']);
    });
    await cluster.kubectl(['apply', '-f', '-'], manifests(image, nodes));
    const externalDns = join(directory, 'external-dns');
    await cp(join(etc, 'kubernetes/ssh-balancer/external-dns'), externalDns, { recursive: true });
    await writeFile(join(externalDns, 'tsig.env'), `secret=${nameServer.secret}\n`);
    await cluster.kubectl(['apply', '-k', externalDns]);
    const [first] = nodes as [SshHost];
    const { resolvConf } = nameServer;
    client = await LanClient.create({
      ...{ network: network.path, source: '192.0.2.77', directory, resolvConf, name, node: first },
    });
  }, 240_000);
  afterAll(async () => {
    for (const step of undo.reverse()) await step();
  }, 120_000);

  it('MetalLB announces the address, ExternalDNS writes it to the name server, and ssh reaches a login node', async () => {
    const written = await waitFor({ what: 'the record', timeoutMs: 30_000 }, async () => {
      const records = await nameServer.query(name, 'A');
      return records.length > 0 ? records : undefined;
    });
    expect(written).toEqual([address]);
    const { stdout, stderr } = await client.ssh('ada', ['hostname']);
    expect(stderr).toBe('');
    expect(stdout.toString()).toMatch(/^login[12]\n$/);
    const device = JSON.parse(await node.inside(['ip', '-json', 'link', 'show', 'lan0'])) as [Link];
    const neighbour = await client.run(['ip', '-json', 'neighbour', 'show', 'to', address]);
    expect(JSON.parse(neighbour.stdout.toString())).toMatchObject([{ lladdr: device[0].address }]);
  });

  it('haproxy logs the address of the client', async () => {
    const logs = ['logs', '-l', 'app.kubernetes.io/name=ssh-balancer', '-n', 'ssh-balancer'];
    expect(await cluster.kubectl(logs)).toMatch(/\b192\.0\.2\.77\b/);
  });

  it('the name server lets the key change this name only, and nobody change it without the key', async () => {
    const records = await nameServer.zone();
    expect(records.filter((record) => record.includes('TXT'))).toEqual([
      expect.stringMatching(/^external-dns-a-login\.example\.org\.\s.*owner=ssh-balancer/),
    ]);
    const { secret } = nameServer;
    const other = await nameServer.update('update add www.example.org 60 A 192.0.2.66', secret);
    // Knot's answer if no ACL allows the key to do that.
    expect(other).toContain('BADKEY');
    const wrong = Buffer.alloc(32, 'x').toString('base64');
    const forged = await nameServer.update('update delete login.example.org A', wrong);
    expect(forged).toContain('BADSIG');
    expect(await nameServer.query(name, 'A')).toEqual([address]);
  });

  it('sessions stay when the speaker is killed, and it announces the address again', async () => {
    const session = await LiveSession.startReady(client, 'ada', 'cat');
    await node.inside(['pkill', '-KILL', '-x', 'speaker']);
    session.client.stdin?.write('still here\n');
    await session.waitForOutput('still here');
    // A client that does not know the address.
    await client.run(['ip', 'neighbour', 'flush', 'to', address]);
    await waitFor({ what: 'a new connection', timeoutMs: 30_000 }, async () => {
      const { exitCode, stderr } = await client.ssh('ada', ['true']);
      if (exitCode !== 0) throw new Error(stderr);
      return true;
    });
    await session.kill();
  });

  it('an open session stays while the pods of the balancer are replaced', async () => {
    const session = await LiveSession.startReady(client, 'ada', 'cat');
    await cluster.kubectl(['rollout', 'restart', 'deployment/ssh-balancer', '-n', 'ssh-balancer']);
    await cluster.kubectl([
      ...['rollout', 'status', 'deployment/ssh-balancer', '-n', 'ssh-balancer', '--timeout=50s'],
    ]);
    session.client.stdin?.write('still here\n');
    await session.waitForOutput('still here');
    const next = await client.ssh('ada', ['true']);
    await session.kill();
    expect(next.stderr).toBe('');
  });

  it('the record goes with the Service', async () => {
    await cluster.delete('service', 'ssh-balancer', 'ssh-balancer');
    await waitFor({ what: 'the records to be gone', timeoutMs: 30_000 }, async () => {
      const left = (await nameServer.zone()).filter((record) => record.includes('login'));
      if (left.length > 0) throw new Error(left.join('; '));
      return true;
    });
  });
});

function manifests(image: string, nodes: readonly SshHost[]): string {
  const config = `global
    log stdout format raw local0
    maxconn 4096
defaults
    mode tcp
    log global
    timeout connect 10s
    timeout client 36h
    timeout server 36h
listen ssh
    bind :2222
    balance leastconn
    option tcp-check
    tcp-check expect rstring SSH-2.0-
    default-server check inter 10s fall 2 rise 1
${nodes.map((host) => `    server ${host.name} ${host.address}:${host.port}\n`).join('')}`;
  const labels = { 'app.kubernetes.io/name': 'ssh-balancer' };
  const named = { name: 'ssh-balancer', namespace: 'ssh-balancer' };
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'ssh-balancer' } },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: named, data: { 'haproxy.cfg': config } },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: named,
      spec: {
        replicas: 2,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            terminationGracePeriodSeconds: 129_600,
            containers: [
              {
                ...{ name: 'haproxy', image, imagePullPolicy: 'Never' },
                // Until kube-proxy knows that the pod is leaving.
                lifecycle: { preStop: { sleep: { seconds: 5 } } },
                readinessProbe: { tcpSocket: { port: 2222 }, periodSeconds: 1 },
                volumeMounts: [{ name: 'config', mountPath: '/etc/haproxy' }],
              },
            ],
            volumes: [{ name: 'config', configMap: { name: 'ssh-balancer' } }],
          },
        },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        ...named,
        annotations: {
          'metallb.io/address-pool': 'ssh-balancer',
          'external-dns.kubernetes.io/hostname': name,
          'external-dns.alpha.kubernetes.io/hostname': name,
        },
      },
      spec: {
        type: 'LoadBalancer',
        externalTrafficPolicy: 'Local',
        selector: labels,
        ports: [{ name: 'ssh', port: 22, targetPort: 2222 }],
      },
    },
    {
      apiVersion: 'metallb.io/v1beta1',
      kind: 'IPAddressPool',
      metadata: { name: 'ssh-balancer', namespace: 'metallb-system' },
      spec: { addresses: ['192.0.2.100-192.0.2.109'] },
    },
    {
      apiVersion: 'metallb.io/v1beta1',
      kind: 'L2Advertisement',
      metadata: { name: 'ssh-balancer', namespace: 'metallb-system' },
      spec: { ipAddressPools: ['ssh-balancer'] },
    },
  ]
    .map((object) => stringify(object))
    .join('---\n');
}

/** A device as ip(8) prints it. */
interface Link {
  /** MAC address. */
  readonly address: string;
}
