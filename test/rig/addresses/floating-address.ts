import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { assertSuccess } from '../../../src/companions/verify/expect.ts';
import { BalancerHost } from '../balancer/balancer-host.ts';
import { TestNetwork } from '../balancer/test-network.ts';
import { inNetwork } from '../login-node/host-namespaces.ts';
import type { SshServer } from '../login-node/live-session.ts';
import { run, type ClientResult } from '../../../src/companions/verify/run-client.ts';
import { SshHost } from '../login-node/ssh-host.ts';
import { ensurePackages } from '../site/debian-packages.ts';
import { waitFor } from '../wait-for.ts';

/** The address in etc/keepalived/keepalived.conf. */
const address = '192.0.2.10';

const haproxyArgs = ['-f', '/etc/haproxy/haproxy.cfg', '-p', '/run/haproxy.pid'];

interface Balancer {
  readonly host: BalancerHost;
  readonly cable: string;
}

/** A login node behind two balancers, `lb1` and `lb2`, that share an address by keepalived, Debian's. */
export class FloatingAddress implements SshServer {
  readonly address = address;
  readonly port = 22;
  readonly network: string;
  readonly #lan: TestNetwork;
  readonly #node: SshHost;
  readonly #balancers: ReadonlyMap<string, Balancer>;
  readonly #off = new Set<string>();

  private constructor(lan: TestNetwork, node: SshHost, balancers: ReadonlyMap<string, Balancer>) {
    this.network = lan.path;
    this.#lan = lan;
    this.#node = node;
    this.#balancers = balancers;
  }

  /** @param keepalivedConf the text of /etc/keepalived/keepalived.conf of a balancer, 192.0.2.1 or 192.0.2.2 */
  static async start(keepalivedConf: (name: string) => string): Promise<FloatingAddress> {
    await ensurePackages(['keepalived', 'procps']);
    const lan = await TestNetwork.make([77]);
    const place = await lan.addNode(11);
    const node = await SshHost.start({
      ...{ mode: 'plain', images: false, users: { ada: [] }, ...place },
    });
    const balancers = new Map<string, Balancer>();
    const site = new FloatingAddress(lan, node, balancers);
    try {
      for (const [name, byte] of Object.entries({ lb1: 1, lb2: 2 })) {
        const { network, cable } = await lan.addNode(byte);
        const host = await BalancerHost.start({ name, config: haproxyConfig(node), network });
        balancers.set(name, { host, cable });
        const write = 'mkdir -p /etc/keepalived && cat >/etc/keepalived/keepalived.conf';
        const input = { input: keepalivedConf(name) };
        assertSuccess('writing', await host.asRoot(['sh', '-c', write], input));
        const argv = ['keepalived', '--use-file=/etc/keepalived/keepalived.conf', '--log-console'];
        assertSuccess(
          'keepalived',
          await host.asRoot(['sh', '-c', `${argv.join(' ')} >/run/keepalived.log 2>&1`]),
        );
      }
      const key = (await node.asRoot(['cat', '/etc/ssh/host_key.pub'])).stdout.toString();
      await writeFile(site.#knownHosts, `${address} ${key}`);
      await site.waitForOwnerOtherThan('');
      return site;
    } catch (error) {
      await site.stop();
      throw error;
    }
  }

  /** The names of the hosts that have the address. */
  async owners(): Promise<readonly string[]> {
    const owners: string[] = [];
    for (const [name, { host }] of this.#balancers) {
      if (this.#off.has(name)) continue;
      const { stdout } = await host.asRoot(['ip', '-4', '-oneline', 'address']);
      if (stdout.toString().includes(` ${address}/`)) owners.push(name);
    }
    return owners;
  }

  async waitForOwnerOtherThan(former: string): Promise<readonly string[]> {
    const waiting = { what: `the address to be on a host other than ${former}`, timeoutMs: 60_000 };
    return waitFor(waiting, async () => {
      const owners = await this.owners();
      return owners.length === 1 && !owners.includes(former) ? owners : undefined;
    });
  }

  /** Ends haproxy, and only that. */
  async endHaproxy(name: string): Promise<void> {
    const script = 'kill -TERM "$(cat /run/haproxy.pid)"';
    assertSuccess('kill', await this.#host(name).asRoot(['sh', '-c', script]));
  }

  async startHaproxy(name: string): Promise<void> {
    assertSuccess(
      'haproxy',
      await this.#host(name).asRoot(['haproxy', '-W', '-D', ...haproxyArgs]),
    );
  }

  /** Kills all processes of a host and pulls its cable. */
  async powerOff(name: string): Promise<void> {
    const { host, cable } = this.#balancer(name);
    this.#off.add(name);
    await this.#lan.unplug(cable);
    await host.kill();
  }

  clientOptions(user: string): string[] {
    return [
      ...['-F', '/dev/null', '-i', this.#node.key(user), '-o', 'IdentitiesOnly=yes'],
      ...['-o', 'BatchMode=yes', '-o', `UserKnownHostsFile=${this.#knownHosts}`],
      ...['-o', 'ConnectTimeout=10'],
    ];
  }

  ssh(user: string, args: readonly string[]): Promise<ClientResult> {
    const argv = ['ssh', ...this.clientOptions(user), `${user}@${address}`, ...args];
    const [file = '', ...words] = inNetwork(this.network, argv);
    return run(file, words);
  }

  async stop(): Promise<void> {
    for (const { host } of this.#balancers.values()) await host.stop();
    await this.#node.stop();
    await this.#lan.remove();
  }

  #host(name: string): BalancerHost {
    return this.#balancer(name).host;
  }

  #balancer(name: string): Balancer {
    const found = this.#balancers.get(name);
    if (found === undefined) throw new Error(`there is no balancer ${name}`);
    return found;
  }

  get #knownHosts(): string {
    return join(this.#node.directory, 'known_hosts-of-name');
  }
}

function haproxyConfig({ name, address: to, port }: SshHost): string {
  return `global
    log /dev/log local0
defaults
    mode tcp
    log global
    timeout connect 10s
    timeout client 36h
    timeout server 36h
listen ssh
    bind :22
    option tcp-check
    tcp-check expect rstring SSH-2.0-
    server ${name} ${to}:${port} check inter 10s fall 2 rise 1
`;
}
