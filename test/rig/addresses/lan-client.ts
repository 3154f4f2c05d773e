import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inNetwork } from '../login-node/host-namespaces.ts';
import type { SshServer } from '../login-node/live-session.ts';
import {
  run,
  type ClientOptions,
  type ClientResult,
} from '../../../src/companions/verify/run-client.ts';
import type { SshHost } from '../login-node/ssh-host.ts';

interface LanClientOptions {
  /** Path of a network namespace. */
  readonly network: string;
  /** The client's address. */
  readonly source: string;
  /** Directory for the client's files. */
  readonly directory: string;
  /** The text of /etc/resolv.conf. */
  readonly resolvConf: string;
  /** The name that users type. */
  readonly name: string;
  /** One of the login nodes behind the name. */
  readonly node: SshHost;
}

/** A user's machine in a test's network, with a resolv.conf of its own, and the name's host key in known_hosts. */
export class LanClient implements SshServer {
  readonly address: string;
  readonly port = 22;
  readonly network: string;
  readonly enter: readonly string[];
  readonly #knownHosts: string;
  readonly #node: SshHost;
  readonly #source: string;

  private constructor(options: LanClientOptions, enter: readonly string[], knownHosts: string) {
    this.address = options.name;
    this.network = options.network;
    this.enter = enter;
    this.#knownHosts = knownHosts;
    this.#node = options.node;
    this.#source = options.source;
  }

  static async create(options: LanClientOptions): Promise<LanClient> {
    const { directory, network, resolvConf, name, node } = options;
    const [resolv, switches, knownHosts] = ['resolv.conf', 'nsswitch.conf', 'known_hosts'].map(
      (file) => join(directory, file),
    ) as [string, string, string];
    await writeFile(resolv, resolvConf, { mode: 0o644 });
    await writeFile(switches, 'passwd: files\ngroup: files\nhosts: files dns\n', { mode: 0o644 });
    const key = (await node.asRoot(['cat', '/etc/ssh/host_key.pub'])).stdout.toString();
    await writeFile(knownHosts, `${name} ${key}`);
    const script = `mount --make-rprivate /
mount --bind ${resolv} /etc/resolv.conf
mount --bind ${switches} /etc/nsswitch.conf
exec "$@"`;
    const enter = inNetwork(network, ['unshare', '--mount', 'sh', '-ec', script, 'sh']);
    return new LanClient(options, enter, knownHosts);
  }

  clientOptions(user: string): string[] {
    return [
      ...['-F', '/dev/null', '-i', this.#node.key(user), '-o', 'IdentitiesOnly=yes'],
      ...['-o', 'BatchMode=yes', '-o', `UserKnownHostsFile=${this.#knownHosts}`],
      // The address of the name may change.
      ...['-o', 'CheckHostIP=no', '-o', 'ConnectTimeout=5'],
      ...['-o', `BindAddress=${this.#source}`],
    ];
  }

  /** Runs OpenSSH's client; `args` are further options, then the command. */
  ssh(user: string, args: readonly string[], options?: ClientOptions): Promise<ClientResult> {
    const destination = `${user}@${this.address}`;
    return this.run(['ssh', ...this.clientOptions(user), destination, ...args], options);
  }

  /** Runs a command on the user's machine. */
  run(argv: readonly string[], options?: ClientOptions): Promise<ClientResult> {
    const [file = '', ...args] = [...this.enter, ...argv];
    return run(file, args, options);
  }
}
