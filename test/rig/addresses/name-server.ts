import { join } from 'node:path';
import { assertSuccess } from '../../../src/companions/verify/expect.ts';
import { inNetwork } from '../login-node/host-namespaces.ts';
import { run, type ClientResult } from '../../../src/companions/verify/run-client.ts';
import { ensurePackages } from '../site/debian-packages.ts';
import { waitFor } from '../wait-for.ts';
import { Daemon } from './daemon.ts';
import {
  nameServerSoftware,
  writeNameServerFiles,
  type SoftwareName,
} from './name-server-software.ts';

/** The address in the files of etc/dns. */
const address = '192.0.2.53';

/** Mounts the server's directories, and runs it: DIRECTORY ETC ZONES RUN ACCOUNT PROGRAM… */
const script = `mount --make-rprivate /
directory=$1 etc=$2 zones=$3 run=$4 account=$5
shift 5
mount --bind "$directory/etc" "$etc"
mount --bind "$directory/zones" "$zones"
mount -t tmpfs tmpfs /run
install -d -o "$account" -g "$account" "$run"
exec "$@"`;

/** Knot DNS or BIND, Debian's, with the files of etc/dns as they are. */
export class NameServer {
  /** The TSIG key's secret, Base64. */
  readonly secret: string;
  readonly #network: string;
  readonly #daemon: Daemon;

  private constructor(secret: string, network: string, daemon: Daemon) {
    this.secret = secret;
    this.#network = network;
    this.#daemon = daemon;
  }

  /** @param network path of a network namespace with the address 192.0.2.53 */
  static async start(
    network: string,
    directory: string,
    name: SoftwareName = 'knot',
  ): Promise<NameServer> {
    const software = nameServerSoftware[name];
    const { etc, zones, run: runtime, account } = software;
    await ensurePackages([...software.packages, 'bind9-dnsutils']);
    const secret = await writeNameServerFiles(software, directory);
    const places = [directory, etc, zones, runtime, account];
    const daemon = await Daemon.start(
      inNetwork(network, ['unshare', '--mount', 'sh', '-ec', script, 'sh', ...places]),
      software.argv,
      join(directory, `${name}.log`),
    );
    const server = new NameServer(secret, network, daemon);
    const waiting = { what: 'the name server to answer', timeoutMs: 60_000 };
    await waitFor({ ...waiting, alive: () => daemon.assertRunning() }, async () =>
      (await server.query('ns1.example.org', 'A')).length > 0 ? true : undefined,
    );
    return server;
  }

  /** The text of /etc/resolv.conf of this name server's clients. */
  get resolvConf(): string {
    return `nameserver ${address}\noptions timeout:1 attempts:2\n`;
  }

  /** The data of the records of this name and type. */
  async query(name: string, type: string): Promise<readonly string[]> {
    const { stdout } = await this.#dig('+short', name, type);
    return lines(stdout.toString());
  }

  /** All records of the zone, by a transfer with the key. */
  async zone(): Promise<readonly string[]> {
    const { stdout } = await this.#dig(
      ...['+noall', '+answer', '+nottlid', 'example.org', 'AXFR'],
      ...['-y', `hmac-sha256:external-dns:${this.secret}`],
    );
    return lines(stdout.toString());
  }

  /** Sends a dynamic update with this key. @returns the message of nsupdate(1), empty if the server did it */
  async update(line: string, secret: string): Promise<string> {
    const input = `server ${address}\nzone example.org\n${line}\nsend\n`;
    const key = `hmac-sha256:external-dns:${secret}`;
    const [file = '', ...args] = inNetwork(this.#network, ['nsupdate', '-y', key]);
    const { stderr } = await run(file, args, { input });
    return stderr.trim();
  }

  stop(): Promise<void> {
    return this.#daemon.stop();
  }

  async #dig(...args: string[]): Promise<ClientResult> {
    const argv = ['dig', `@${address}`, '+time=1', '+tries=1', ...args];
    const [file = '', ...words] = inNetwork(this.#network, argv);
    return assertSuccess('dig', await run(file, words));
  }
}

function lines(text: string): string[] {
  return text.split('\n').filter((line) => line !== '');
}
