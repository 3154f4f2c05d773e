import type { ChildProcess } from 'node:child_process';
import { endHolder, ip, namespaceOf, startHolder } from '../login-node/network-namespace.ts';

/** The prefix of the addresses of a test network; RFC 5737 reserves it for documentation. */
const prefix = '192.0.2';

/**
 * A network of a test: a network namespace for clients with a bridge, and one for each host, whose cable can be pulled.
 * Nothing in it reaches the machine's network, so every test can use port 22 and the same addresses.
 */
export class TestNetwork {
  /** Path of the clients' namespace. */
  readonly path: string;
  readonly #holders: ChildProcess[];

  private constructor(holder: ChildProcess) {
    this.path = namespaceOf(holder);
    this.#holders = [holder];
  }

  /** @param addresses last bytes of the addresses of what runs in the bridge's namespace: clients, a name server */
  static async make(addresses: readonly number[]): Promise<TestNetwork> {
    const network = new TestNetwork(await startHolder());
    await network.#ip('link', 'set', 'lo', 'up');
    await network.#ip('link', 'add', 'bridge', 'type', 'bridge');
    await network.#ip('link', 'set', 'bridge', 'up');
    for (const byte of addresses)
      await network.#ip('address', 'add', `${prefix}.${byte}/24`, 'dev', 'bridge');
    return network;
  }

  /** Adds a namespace for a host. @param byte last byte of its address @returns where it is, and the name of its cable */
  async addNode(byte: number): Promise<{ address: string; network: string; cable: string }> {
    const holder = await startHolder();
    this.#holders.push(holder);
    const own = namespaceOf(holder);
    const [cable, address] = [`node-${byte}`, `${prefix}.${byte}`];
    const peer = ['peer', 'name', 'eth0', 'netns', String(holder.pid)];
    await this.#ip('link', 'add', cable, 'type', 'veth', ...peer);
    await this.plugIn(cable);
    await this.#ip('link', 'set', cable, 'up');
    await ip(own, 'link', 'set', 'lo', 'up');
    await ip(own, 'address', 'add', `${address}/24`, 'dev', 'eth0');
    await ip(own, 'link', 'set', 'eth0', 'up');
    return { address, network: own, cable };
  }

  /** Pulls the cable of a host: packets are lost in both directions, and nobody is told. */
  async unplug(cable: string): Promise<void> {
    await this.#ip('link', 'set', cable, 'nomaster');
  }

  async plugIn(cable: string): Promise<void> {
    await this.#ip('link', 'set', cable, 'master', 'bridge');
  }

  async remove(): Promise<void> {
    for (const holder of this.#holders.reverse()) await endHolder(holder);
  }

  async #ip(...args: string[]): Promise<void> {
    await ip(this.path, ...args);
  }
}
