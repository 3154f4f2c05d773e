import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { parse, stringify } from 'yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { balancerImage } from '../../rig/addresses/balancer-image.ts';
import { externalDnsBinary } from '../../rig/addresses/external-dns/build.ts';
import { startKubeProxy } from '../../rig/addresses/kube-proxy/kube-proxy.ts';
import { LanClient } from '../../rig/addresses/lan-client.ts';
import { startMetallb } from '../../rig/addresses/metallb/metallb.ts';
import { NameServer } from '../../rig/addresses/name-server.ts';
import { connectToLan } from '../../rig/addresses/pod-lan.ts';
import { ensureProgramImage } from '../../rig/addresses/program-image.ts';
import { SecondNode } from '../../rig/addresses/second-node.ts';
import { TestNetwork } from '../../rig/balancer/test-network.ts';
import { LiveSession } from '../../rig/login-node/live-session.ts';
import { SshHost } from '../../rig/login-node/ssh-host.ts';
import { ensurePackages } from '../../rig/site/debian-packages.ts';
import { ensureNode, type TestNode } from '../../rig/site/kubernetes-node/node.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { openSite } from '../../rig/site/site.ts';
import { waitFor } from '../../rig/wait-for.ts';

const name = 'login.example.org';
const address = '192.0.2.100';
const etc = new URL('../../../etc/', import.meta.url).pathname;
const site = await openSite();

describe.skipIf(site.skipReason('node'))('a name in DNS and an address of MetalLB', () => {
  const cluster = new LiveCluster(site);
  const undo: (() => Promise<void>)[] = [];
  const nodes: SshHost[] = [];
  let directory: string;
  let node: TestNode;
  let network: TestNetwork;
  let nameServer: NameServer;
  let client: LanClient;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'berth-addresses-'));
    undo.push(() => rm(directory, { recursive: true }));
    node = await ensureNode(site);
    network = await TestNetwork.make([53, 77]);
    undo.push(() => network.remove());
    for (const [index, host] of ['login1', 'login2', 'login3'].entries()) {
      const place = await network.addNode(11 + index);
      const [first] = nodes;
      const beside = first === undefined ? { users: { ada: [] } } : { beside: first };
      const started = await SshHost.start({
        // The example's port, besides one of its own.
        ...{ mode: 'plain', name: host, images: false, sshd: 'Port 332' },
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
      const all = ['--all', '--wait=false', '-n', 'ssh-balancer'];
      await cluster.kubectl(['delete', 'deployments', ...all]);
      // Again and again: a ReplicaSet may still replace a pod, whose grace period would be 36 hours.
      await waitFor({ what: 'the pods to end', timeoutMs: 60_000, everyMs: 1000 }, async () => {
        await cluster.kubectl(['delete', 'pods', '--grace-period=1', ...all]);
        const left = await cluster.kubectl(['get', 'pods', '-n', 'ssh-balancer', '-o', 'name']);
        return left === '' ? true : undefined;
      });
      await cluster.deleteNamespacesAndWait(['ssh-balancer']);
    });
    await cluster.kubectl(['apply', '-k', join(etc, 'kubernetes/ssh-balancer')]);
    const externalDns = join(directory, 'external-dns');
    await cp(join(etc, 'kubernetes/ssh-balancer/external-dns'), externalDns, { recursive: true });
    await writeFile(join(externalDns, 'tsig.env'), `secret=${nameServer.secret}\n`);
    await cluster.kubectl(['apply', '-k', externalDns]);
    const [first] = nodes as [SshHost];
    const { resolvConf } = nameServer;
    client = await LanClient.create({
      ...{ network: network.path, source: '192.0.2.77', directory, resolvConf, name, node: first },
    });
  }, 1_800_000);
  afterAll(async () => {
    for (const step of undo.reverse()) await step();
  }, 240_000);

  it('MetalLB announces the address, ExternalDNS writes it to the name server, and ssh reaches a login node', async () => {
    const written = await waitFor({ what: 'the record', timeoutMs: 60_000 }, async () => {
      const records = await nameServer.query(name, 'A');
      return records.length > 0 ? records : undefined;
    });
    expect(written).toEqual([address]);
    await rolledOut();
    const { stdout, stderr } = await client.ssh('ada', ['hostname']);
    expect(stderr).toBe('');
    expect(stdout.toString()).toMatch(/^login[123]\n$/);
    const neighbour = await client.run(['ip', '-json', 'neighbour', 'show', 'to', address]);
    expect(JSON.parse(neighbour.stdout.toString())).toMatchObject([{ lladdr: await macOfSite() }]);
  });

  it('haproxy logs the address of the client', async () => {
    const logs = ['logs', '-l', 'app.kubernetes.io/name=ssh-balancer', '-n', 'ssh-balancer'];
    expect(await cluster.kubectl(logs)).toContain('client=192.0.2.77 ');
  });

  it('the name server lets the key change this name only, and nobody change it without the key', async () => {
    const owners = async (): Promise<readonly string[]> =>
      (await nameServer.zone())
        .filter((record) => record.includes('owner=ssh-balancer'))
        .map((record) => record.split('.')[0] ?? '')
        .sort();
    // ExternalDNS writes one name after the other.
    await expect.poll(owners).toEqual(['external-dns-a-login', 'external-dns-a-pods']);
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
    await waitFor({ what: 'a new connection', timeoutMs: 60_000 }, async () => {
      const { exitCode, stderr } = await client.ssh('ada', ['true']);
      if (exitCode !== 0) throw new Error(stderr);
      return true;
    });
    await session.kill();
  });

  it('a session on a node that is taken from the list stays, and new ones reach other nodes', async () => {
    const session = await LiveSession.startReady(client, 'ada', 'hostname; cat');
    await session.waitForOutput('login');
    const former = /login[123]/.exec(session.output)?.[0] ?? '';
    await applyList(former);
    await rolledOut();
    session.client.stdin?.write('still here\n');
    await session.waitForOutput('still here');
    // kube-proxy sends some connections to the former balancers until it has seen their end.
    await expect.poll(nextThree).not.toContain(former);
    await session.kill();
    expect((await nextThree()).join()).toMatch(/^login[123],login[123],login[123]$/);
  });

  /** Which nodes the next three connections reach. */
  async function nextThree(): Promise<string[]> {
    const seen: string[] = [];
    for (let count = 0; count < 3; count += 1)
      seen.push((await client.ssh('ada', ['hostname'])).stdout.toString().trim());
    return seen;
  }

  /** Applies what `berth render balancer` makes of the example's list without a node. */
  async function applyList(without: string): Promise<void> {
    const list = parse(await readFile(join(etc, 'berth/balancer.yml.example'), 'utf8')) as List;
    const systems = list.systems.map(({ name: system, nodes: all }) => ({
      ...{ name: system, nodes: all.filter((each) => each.name !== without) },
    }));
    const file = join(directory, 'balancer.yml');
    await writeFile(file, stringify({ ...list, systems }), { mode: 0o600 });
    const args = ['render', 'balancer', '--for', 'kubernetes', '--list', file];
    const { stdout } = await execa(join(installDirectory, 'berth'), args);
    await cluster.kubectl(['apply', '-f', '-'], stdout);
  }

  /** Waits until the pods of both balancers are new and Ready. */
  async function rolledOut(): Promise<void> {
    for (const name of ['ssh-balancer-1', 'ssh-balancer-2']) {
      const deployment = ['deployment', name, '-n', 'ssh-balancer', '--timeout=50s'];
      await cluster.kubectl(['rollout', 'status', ...deployment]);
    }
  }

  it('of two nodes one announces the address, and within seconds the other if that one fails', async () => {
    await ensurePackages(['iputils-arping']);
    const second = await SecondNode.start({
      ...{ site, cluster, node, network, nodes, directory, gateway: '192.0.2.30' },
    });
    try {
      await expect.poll(announcers).toEqual([second.mac]);
      expect((await client.ssh('ada', ['true'])).stderr).toBe('');
      const other = await macOfSite();
      const since = performance.now();
      await second.killSpeaker();
      await waitFor({ what: 'a connection through the other', timeoutMs: 60_000 }, async () => {
        // Not before: the killed node's kube-proxy still passes on what a client sends there.
        const macs = await announcers();
        if (macs.join() !== other) throw new Error(`announced by ${macs.join()}`);
        const { exitCode, stderr } = await client.ssh('ada', ['true']);
        if (exitCode !== 0) throw new Error(stderr);
        return true;
      });
      // The speakers' gossip finds a failure within a few seconds; the rest is for a busy machine.
      expect(performance.now() - since).toBeLessThan(20_000);
    } finally {
      await second.stop();
    }
  });

  /** The MAC addresses from which the address is answered. */
  async function announcers(): Promise<readonly string[]> {
    const argv = ['arping', '-c', '2', '-w', '2', '-I', 'bridge', address];
    const { stdout } = await client.run(argv);
    const macs = stdout.toString().matchAll(/reply from \S+ \[(\S+)\]/g);
    return [...new Set([...macs].map(([, mac = '']) => mac.toLowerCase()))];
  }

  async function macOfSite(): Promise<string> {
    const device = await node.inside(['ip', '-json', 'link', 'show', 'lan0']);
    return (JSON.parse(device) as [Link])[0].address;
  }

  it('the record goes with the Service', async () => {
    await cluster.delete('service', 'ssh-balancer', 'ssh-balancer');
    await waitFor({ what: 'the records to be gone', timeoutMs: 60_000 }, async () => {
      const left = (await nameServer.zone()).filter((record) =>
        /^(login|pods|external-dns)/.test(record),
      );
      if (left.length > 0) throw new Error(left.join('; '));
      return true;
    });
  });
});

/** balancer.yml, as far as the test changes it. */
interface List {
  readonly systems: readonly {
    readonly name: string;
    readonly nodes: readonly { readonly name: string }[];
  }[];
}

/** A device as ip(8) prints it. */
interface Link {
  /** MAC address. */
  readonly address: string;
}
