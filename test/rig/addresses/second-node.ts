import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { BalancerHost } from '../balancer/balancer-host.ts';
import { renderHaproxyConfig } from '../balancer/render-haproxy-config.ts';
import type { TestNetwork } from '../balancer/test-network.ts';
import { inNetwork } from '../login-node/host-namespaces.ts';
import type { SshHost } from '../login-node/ssh-host.ts';
import { writeKubeconfig } from '../site/kubernetes/kubeconfig.ts';
import type { TestNode } from '../site/kubernetes-node/node.ts';
import type { LiveCluster } from '../site/live-cluster.ts';
import type { Site } from '../site/site.ts';
import { waitFor } from '../wait-for.ts';
import { Daemon } from './daemon.ts';
import { startKubeProxy } from './kube-proxy/kube-proxy.ts';
import { metallbBinaries } from './metallb/build.ts';

/** MetalLB orders nodes by a hash of name and address: for 192.0.2.100, this one comes before that of the site. */
const name = 'node4';
const metallb = 'metallb-system';

export interface SecondNodeOptions {
  readonly site: Site;
  readonly cluster: LiveCluster;
  /** The site's node, through which the second one reaches the API server. */
  readonly node: TestNode;
  /** The node's IPv4 address in the network. */
  readonly gateway: string;
  readonly network: TestNetwork;
  /** The login nodes behind the second node's balancer. */
  readonly nodes: readonly SshHost[];
  /** Directory for files. */
  readonly directory: string;
}

/**
 * A second Kubernetes node in a test's network, with all that an address needs: MetalLB's speaker, kube-proxy, and a
 * balancer that the Service `ssh-balancer` has as its endpoint there. There is no kubelet, so the three are processes and
 * no pods, and the Node object and the EndpointSlice are the test's.
 */
export class SecondNode {
  /** MAC address in the network. */
  readonly mac: string;
  readonly #speaker: Daemon;
  readonly #undo: readonly (() => Promise<unknown>)[];

  private constructor(
    { mac, speaker }: { readonly mac: string; readonly speaker: Daemon },
    undo: readonly (() => Promise<unknown>)[],
  ) {
    this.mac = mac;
    this.#speaker = speaker;
    this.#undo = undo;
  }

  /** Starts the node, and waits until its speaker knows that of the other one. */
  static async start(options: SecondNodeOptions): Promise<SecondNode> {
    const undo: (() => Promise<unknown>)[] = [];
    try {
      return new SecondNode(await start(options, undo), undo);
    } catch (error) {
      for (const step of undo.reverse()) await step();
      throw error;
    }
  }

  /** Kills the speaker, without a chance to tell the other one. */
  async killSpeaker(): Promise<void> {
    await this.#speaker.kill();
  }

  async stop(): Promise<void> {
    for (const step of this.#undo.toReversed()) await step();
  }
}

async function start(
  { site, cluster, node, gateway, network, nodes, directory }: SecondNodeOptions,
  undo: (() => Promise<unknown>)[],
): Promise<{ readonly mac: string; readonly speaker: Daemon }> {
  const place = await network.addNode(31);
  const { address } = place;
  const enter = inNetwork(place.network, []);
  const [file = '', ...args] = enter;
  const inside = async (argv: readonly string[]): Promise<string> => {
    const { stdout } = await execa(file, [...args, ...argv]);
    return stdout;
  };
  await inside(['ip', 'route', 'add', 'default', 'via', gateway]);
  const masquerade = ['POSTROUTING', '--source', address, '--jump', 'MASQUERADE'];
  const outside = ['!', '--out-interface', 'lan0'];
  await node.inside(['iptables', '--wait', '-t', 'nat', '--append', ...masquerade, ...outside]);
  undo.push(() =>
    node.inside(['iptables', '--wait', '-t', 'nat', '--delete', ...masquerade, ...outside]),
  );
  const balancer = await BalancerHost.start({
    ...{ name, network: place.network },
    config: await renderHaproxyConfig({
      ...{ hostname: 'login.example.org', listen: [address] },
      systems: [
        { name: 'alpha', nodes: nodes.map((each) => ({ name: each.name, address: each.address })) },
      ],
      kinds: [{ name: 'podman', system: 'alpha', port: 10_022, node_port: nodes[0]?.port }],
    }),
  });
  undo.push(() => balancer.stop());
  // Nothing else is scheduled to it.
  await cluster.create({
    ...{ apiVersion: 'v1', kind: 'Node', metadata: { name }, spec: { unschedulable: true } },
  });
  undo.push(() => cluster.kubectl(['delete', 'node', name]));
  const status = JSON.stringify({ status: { addresses: [{ type: 'InternalIP', address }] } });
  await cluster.kubectl(['patch', 'node', name, '--subresource=status', '-p', status]);
  const { machineAddress } = node;
  const proxy = await startKubeProxy(site, { name, machineAddress, enter, inside }, directory);
  undo.push(() => proxy.stop());
  const speaker = await startSpeaker({ site, cluster, node, directory }, { address, enter });
  undo.push(() => speaker.stop());
  await cluster.create({
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      ...{ name: `ssh-balancer-${name}`, namespace: 'ssh-balancer' },
      labels: {
        'kubernetes.io/service-name': 'ssh-balancer',
        'endpointslice.kubernetes.io/managed-by': 'berth-test',
      },
    },
    addressType: 'IPv4',
    endpoints: [{ addresses: [address], nodeName: name, conditions: { ready: true } }],
    ports: [{ name: 'podman-22', port: 10_022, protocol: 'TCP' }],
  });
  undo.push(() => cluster.delete('endpointslice', `ssh-balancer-${name}`, 'ssh-balancer'));
  const device = JSON.parse(await inside(['ip', '-json', 'link', 'show', 'eth0'])) as unknown;
  const [{ address: mac }] = device as [{ readonly address: string }];
  return { mac, speaker };
}

/** Starts the speaker with the arguments, the account and the secret of MetalLB's DaemonSet. */
async function startSpeaker(
  {
    site,
    cluster,
    node,
    directory,
  }: Pick<SecondNodeOptions, 'site' | 'cluster' | 'node' | 'directory'>,
  { address, enter }: { readonly address: string; readonly enter: readonly string[] },
): Promise<Daemon> {
  const { speaker: program } = await metallbBinaries();
  const kubeconfig = join(directory, 'speaker.kubeconfig');
  const token = await cluster.kubectl(['create', 'token', 'speaker', '-n', metallb]);
  await writeKubeconfig(kubeconfig, {
    server: `https://${node.machineAddress}:${new URL(site.server).port}`,
    ca: site.ca.file,
    tlsServerName: 'localhost',
    credential: { token: token.trim() },
  });
  const key = join(directory, 'memberlist');
  await mkdir(key, { mode: 0o700 });
  const jsonPath = 'jsonpath={.data.secretkey}';
  const encoded = await cluster.kubectl([
    'get',
    'secret',
    'memberlist',
    '-n',
    metallb,
    '-o',
    jsonPath,
  ]);
  await writeFile(join(key, 'secretkey'), Buffer.from(encoded, 'base64'), { mode: 0o600 });
  // Only for owner references of what it writes.
  const all = ['get', 'pods', '-n', metallb, '-l', 'component=speaker', '-o', 'name'];
  const pod = (await cluster.kubectl(all)).trim().replace('pod/', '');
  const flags = [
    ...['--port=9120', '--log-level=info', `--namespace=${metallb}`, `--node-name=${name}`],
    ...[`--pod-name=${pod}`, `--ml-bindaddr=${address}`, `--ml-secret-key-path=${key}`],
    ...['--ml-labels=app=metallb,component=speaker', `--kubeconfig=${kubeconfig}`],
  ];
  const speaker = await Daemon.start(enter, [program, ...flags], join(directory, 'speaker.log'));
  const waiting = { what: 'the speakers to know each other', timeoutMs: 60_000 };
  await waitFor({ ...waiting, alive: () => speaker.assertRunning() }, async () => {
    const log = await speaker.log();
    if (!log.includes('memberlist join successfully')) throw new Error(log);
    return true;
  });
  return speaker;
}
