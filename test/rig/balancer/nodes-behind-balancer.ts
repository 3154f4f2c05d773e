import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inNetwork } from '../login-node/host-namespaces.ts';
import type { SshServer } from '../login-node/live-session.ts';
import { run, type ClientOptions, type ClientResult } from '../login-node/run-program.ts';
import { SshHost, type SshHostOptions } from '../login-node/ssh-host.ts';
import { freePorts } from '../site/ports.ts';
import { BalancerHost } from './balancer-host.ts';
import { haproxyConfig } from './haproxy-config.ts';
import { TestNetwork } from './test-network.ts';

export interface NodesOptions {
  /** Number of login nodes; default 3. */
  readonly nodes?: number;
  /** Number of balancers; default 1. Two share a peers' table. */
  readonly balancers?: number;
  /** Whether the hosts have a network of their own, in which cables can be pulled; default: loopback addresses. */
  readonly ownNetwork?: boolean;
  /** Whether a source address stays with its node; default true. */
  readonly together?: boolean;
  /** How each login node is set up. */
  readonly host: Omit<SshHostOptions, 'name' | 'address' | 'network' | 'beside'>;
}

/** One balancer as clients see it. */
export interface Front extends SshServer {
  readonly host: BalancerHost;
  /** Runs OpenSSH's client; `args` are further options, then the command. */
  ssh(user: string, args: readonly string[], options?: ClientOptions): Promise<ClientResult>;
}

/** Login nodes `login1`, `login2` … with shared homes and one host key, behind haproxy `lb1`, `lb2` … */
export class NodesBehindBalancer {
  readonly nodes: readonly SshHost[];
  readonly fronts: readonly Front[];
  readonly #network: TestNetwork | undefined;
  readonly #cables: ReadonlyMap<SshHost, string>;

  private constructor(
    nodes: ReadonlyMap<SshHost, string>,
    fronts: readonly Front[],
    network: TestNetwork | undefined,
  ) {
    this.nodes = [...nodes.keys()];
    this.fronts = fronts;
    this.#cables = nodes;
    this.#network = network;
  }

  static async start(options: NodesOptions): Promise<NodesBehindBalancer> {
    const names = (word: string, count: number): string[] =>
      Array.from({ length: count }, (_, index) => `${word}${index + 1}`);
    const network =
      options.ownNetwork === true ? await TestNetwork.make([1, 2, ...clientBytes]) : undefined;
    const nodes = new Map<SshHost, string>();
    const balancers: BalancerHost[] = [];
    const stop = async (): Promise<void> => {
      for (const each of [...balancers, ...[...nodes.keys()].reverse()]) await each.stop();
      await network?.remove();
    };
    try {
      for (const [index, name] of names('login', options.nodes ?? 3).entries()) {
        const place = (await network?.addNode(11 + index)) ?? { address: `127.0.0.${index + 1}` };
        const [first] = nodes.keys();
        const host = await SshHost.start({
          ...{ ...options.host, ...place, name },
          ...(first === undefined ? {} : { beside: first }),
        });
        nodes.set(host, 'cable' in place ? place.cable : '');
      }
      const port = network === undefined ? (await freePorts(['ssh'])).ssh : 22;
      const { peers, statistics } = await freePorts(['peers', 'statistics']);
      const all = names('lb', options.balancers ?? 1).map((name, index) => ({
        ...{ name, address: `${network === undefined ? '127.0.0' : '192.0.2'}.${index + 1}` },
      }));
      for (const { name, address } of all) {
        const config = haproxyConfig({
          ...{ name, address, port, peersPort: peers, statisticsPort: statistics, balancers: all },
          together: options.together ?? true,
          nodes: [...nodes.keys()],
        });
        balancers.push(await BalancerHost.start({ name, config, network: network?.path }));
      }
      const fronts = await makeFronts([...nodes.keys()], balancers, {
        ...{ port, network: network?.path, addresses: all.map(({ address }) => address) },
      });
      return new NodesBehindBalancer(nodes, fronts, network);
    } catch (error) {
      await stop();
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
    await this.#network?.unplug(this.#cables.get(node) ?? '');
  }

  async plugIn(node: SshHost): Promise<void> {
    await this.#network?.plugIn(this.#cables.get(node) ?? '');
  }

  async stop(): Promise<void> {
    for (const { host } of this.fronts) await host.stop();
    for (const node of this.nodes.toReversed()) await node.stop();
    await this.#network?.remove();
  }
}

const clientBytes = Array.from({ length: 40 }, (_, index) => 100 + index);

/** An address that a client can use in a test network (`ssh -b`), such as one per user; there are 40. */
export function clientAddress(index: number): string {
  return `192.0.2.${clientBytes[index] ?? Number.NaN}`;
}

async function makeFronts(
  [first]: readonly SshHost[],
  balancers: readonly BalancerHost[],
  on: { addresses: readonly string[]; port: number; network: string | undefined },
): Promise<readonly Front[]> {
  if (first === undefined) throw new Error('there is no node');
  const knownHosts = join(first.directory, 'known_hosts-of-name');
  const key = (await first.asRoot(['cat', '/etc/ssh/host_key.pub'])).stdout.toString();
  const names = on.addresses.flatMap((address) => [address, `[${address}]:${on.port}`]);
  await writeFile(knownHosts, `${names.join(',')} ${key}`);
  return balancers.map((host, index) => {
    const address = on.addresses[index] ?? '';
    const clientOptions = (user: string): string[] => [
      ...['-F', '/dev/null', '-i', first.key(user), '-o', 'IdentitiesOnly=yes'],
      ...['-o', 'BatchMode=yes', '-o', `UserKnownHostsFile=${knownHosts}`],
    ];
    return {
      ...{ host, address, port: on.port, network: on.network, clientOptions },
      key: (user) => first.key(user),
      ssh: (user, args, options) => {
        const destination = ['-p', String(on.port), `${user}@${address}`];
        const argv = ['ssh', ...clientOptions(user), ...destination, ...args];
        const [file = '', ...words] = inNetwork(on.network, argv);
        return run(file, words, options);
      },
    };
  });
}
