import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inNetwork } from '../login-node/host-namespaces.ts';
import type { SshServer } from '../login-node/live-session.ts';
import {
  run,
  type ClientOptions,
  type ClientResult,
} from '../../../src/companions/verify/run-client.ts';
import { SshHost, type SshHostOptions } from '../login-node/ssh-host.ts';
import { freePorts } from '../free-ports.ts';
import { BalancerHost } from './balancer-host.ts';
import { renderHaproxyConfig } from './render-haproxy-config.ts';
import { TestNetwork } from './test-network.ts';

/** Where a host is. */
interface Place {
  readonly name: string;
  readonly address: string;
  /** Path of a network namespace; default: the machine's. */
  readonly network?: string;
}

/** Last bytes of the clients' addresses. */
const clientBytes = Array.from({ length: 40 }, (_, index) => 100 + index);

/** An address that a client can use in a network of its own (`ssh -b`), such as one per user; there are 40. */
export function clientAddress(index: number): string {
  return `192.0.2.${clientBytes[index] ?? Number.NaN}`;
}

/** How often a balancer checks a node here, in milliseconds; with Berth's 10 s, tests would wait for it. */
export const checkInterval = 3_000;

export interface NodesOptions {
  /** Number of login nodes; default 3. */
  readonly nodes?: number;
  /** Number of balancers; default 1. Two share a peers' table, and need a network of their own. */
  readonly balancers?: number;
  /** Whether the hosts have a network of their own, in which cables can be pulled; default: loopback addresses. */
  readonly ownNetwork?: boolean;
  /** Whether a source address stays with its node. */
  readonly together: boolean;
  /** `source_limits` of balancer.yml; default: none, because many clients of a test have one address. */
  readonly sourceLimits?: object;
}

/** A login node, and a function that stops it together with what was started for it. */
interface StartedNode {
  readonly host: SshHost;
  stop(): Promise<void>;
}

/** One balancer as clients see it. */
interface Front extends SshServer {
  readonly host: BalancerHost;
  /** Path of a user's private key. */
  key(user: string): string;
  /** Runs OpenSSH's client; `args` are further options, then the command. */
  ssh(user: string, args: readonly string[], options?: ClientOptions): Promise<ClientResult>;
}

interface Parts {
  readonly network: TestNetwork | undefined;
  readonly nodes: StartedNode[];
  /** Names of the hosts' cables. */
  readonly cables: Map<string, string>;
  readonly balancers: BalancerHost[];
}

/**
 * Login nodes `login1`, `login2` … with shared homes and one host key, behind haproxy on `lb1`, `lb2` …, with what
 * `berth render balancer` prints for them.
 */
export class NodesBehindBalancer {
  readonly nodes: readonly SshHost[];
  readonly fronts: readonly Front[];
  readonly #parts: Parts;

  private constructor(parts: Parts, fronts: readonly Front[]) {
    this.nodes = parts.nodes.map(({ host }) => host);
    this.fronts = fronts;
    this.#parts = parts;
  }

  /** @param host how each login node is set up */
  static start(
    options: NodesOptions,
    host: Omit<SshHostOptions, keyof Place | 'beside'>,
  ): Promise<NodesBehindBalancer> {
    return NodesBehindBalancer.startWith<StartedNode>(options, async (place, first) => {
      const beside = first === undefined ? {} : { beside: first.host };
      const started = await SshHost.start({ ...host, ...place, ...beside });
      return { host: started, stop: () => started.stop() };
    });
  }

  /** @param startNode starts a login node in a place, with the homes of the first one */
  static async startWith<Node extends StartedNode>(
    { nodes = 3, balancers = 1, ownNetwork = false, together, sourceLimits }: NodesOptions,
    startNode: (place: Place, first: Node | undefined) => Promise<Node>,
  ): Promise<NodesBehindBalancer> {
    const network = ownNetwork ? await TestNetwork.make(clientBytes) : undefined;
    const parts: Parts = { network, nodes: [], cables: new Map(), balancers: [] };
    const place = async (name: string, byte: number): Promise<Place> => {
      if (network === undefined) return { name, address: `127.0.0.${byte % 10}` };
      const { cable, ...at } = await network.addNode(byte);
      parts.cables.set(name, cable);
      return { name, ...at };
    };
    try {
      let first: Node | undefined;
      for (let number = 1; number <= nodes; number += 1) {
        const name = `login${number}`;
        const node = await startNode(await place(name, 10 + number), first);
        first ??= node;
        parts.nodes.push(node);
      }
      const places: Place[] = [];
      for (let number = 1; number <= balancers; number += 1)
        places.push(await place(`lb${number}`, number));
      const { ssh, peers, statistics } = await freePorts(['ssh', 'peers', 'statistics']);
      const port = ownNetwork ? 22 : ssh;
      const loopback = {
        ...{ listen: ['127.0.0.1'], peers_port: peers, statistics: { port: statistics } },
      };
      const hosts = parts.nodes.map(({ host }) => host);
      const rendered = await renderHaproxyConfig({
        ...(ownNetwork ? {} : loopback),
        hostname: 'login.example.org',
        source_limits: sourceLimits ?? { connections: 0, rate: 0 },
        balancers: places.map(({ name, address }) => ({ name, address })),
        systems: [{ name: 'alpha', nodes: hosts.map(({ name, address }) => ({ name, address })) }],
        kinds: [{ name: 'test', system: 'alpha', port, node_port: hosts[0]?.port, together }],
      });
      const config = rendered.replace(' inter 10s ', ` inter ${checkInterval / 1000}s `);
      for (const each of places)
        parts.balancers.push(await BalancerHost.start({ ...each, config }));
      return new NodesBehindBalancer(
        parts,
        await frontsOf(parts, { addresses: places.map(({ address }) => address), port }),
      );
    } catch (error) {
      await stop(parts);
      throw error;
    }
  }

  /** The first balancer. */
  get front(): Front {
    const [first] = this.fronts;
    if (first === undefined) throw new Error('there is no balancer');
    return first;
  }

  /** The node with this name. */
  node(name: string): SshHost {
    const found = this.nodes.find((node) => node.name === name);
    if (found === undefined) throw new Error(`there is no node ${name}`);
    return found;
  }

  /** Pulls a node's network cable; only with `ownNetwork`. */
  async unplug(node: SshHost): Promise<void> {
    await this.#network.unplug(this.#cableOf(node));
  }

  async plugIn(node: SshHost): Promise<void> {
    await this.#network.plugIn(this.#cableOf(node));
  }

  async stop(): Promise<void> {
    await stop(this.#parts);
  }

  #cableOf({ name }: SshHost): string {
    return this.#parts.cables.get(name) ?? '';
  }

  get #network(): TestNetwork {
    const { network } = this.#parts;
    if (network === undefined) throw new Error('loopback addresses have no cables');
    return network;
  }
}

async function stop({ network, nodes, balancers }: Parts): Promise<void> {
  for (const each of [...balancers, ...nodes.toReversed()]) await each.stop();
  await network?.remove();
}

async function frontsOf(
  { network, nodes, balancers }: Parts,
  { addresses, port }: { addresses: readonly string[]; port: number },
): Promise<readonly Front[]> {
  const first = nodes[0]?.host;
  if (first === undefined) throw new Error('there is no node');
  const knownHosts = join(first.directory, 'known_hosts-of-name');
  const key = (await first.asRoot(['cat', '/etc/ssh/host_key.pub'])).stdout.toString();
  const names = addresses.map((address) => (port === 22 ? address : `[${address}]:${port}`));
  await writeFile(knownHosts, `${names.join(',')} ${key}`);
  const clientOptions = (user: string): string[] => [
    ...['-F', '/dev/null', '-i', first.key(user), '-o', 'IdentitiesOnly=yes'],
    ...['-o', 'BatchMode=yes', '-o', `UserKnownHostsFile=${knownHosts}`],
  ];
  return balancers.map((host, index) => {
    const address = addresses[index] ?? '';
    return {
      ...{ host, address, port, network: network?.path, clientOptions },
      key: (user) => first.key(user),
      ssh: (user, args, options) => {
        const destination = ['-p', String(port), `${user}@${address}`];
        const argv = ['ssh', ...clientOptions(user), ...destination, ...args];
        const [file = '', ...words] = inNetwork(network?.path, argv);
        return run(file, words, options);
      },
    };
  });
}
