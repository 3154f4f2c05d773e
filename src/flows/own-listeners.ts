import { ownListeners, unixListeners, type Place } from '../session/bridge/places.ts';
import { listensOnLoopback, tcpSockets, type TcpSocket } from '../session/bridge/proc-net-tcp.ts';
import {
  isOwnSocket,
  listeningLines,
  socketsInSight,
  unixLines,
} from '../system/listening-sockets.ts';

/** Where a display of sshd's listens for the user; nothing where it is another user's, or nobody's. */
export function displayHost(display: number, uid: number): string | undefined {
  const found = tcpSockets(listeningLines()).find(
    (socket) =>
      socket.uid === uid && socket.local.port === 6000 + display && listensOnLoopback(socket),
  );
  return found === undefined ? undefined : hostOf(found);
}

function hostOf({ local }: TcpSocket): string {
  return local.address.length === 8 ? '127.0.0.1' : '::1';
}

/** Where a connection to one leads. */
export type Address = { readonly path: string } | { readonly host: string; readonly port: number };

interface Listener {
  readonly place: Place;
  readonly inode: string;
  readonly address: Address;
}

/** What sshd listens on for the user (`-R`), looked up once for each socket. */
export class SshdListeners {
  readonly #uid: number;
  /** By inode: whether it is sshd's. */
  #known = new Map<string, boolean>();

  constructor(uid: number) {
    this.#uid = uid;
  }

  /** Addresses by place. */
  now(): ReadonlyMap<Place, Address> {
    const all = [...this.#ports(), ...this.#paths()];
    const inSight = all.some(({ inode }) => !this.#known.has(inode))
      ? socketsInSight()
      : new Set<string>();
    this.#known = new Map(
      all.map(({ inode }) => [inode, this.#known.get(inode) ?? !inSight.has(inode)]),
    );
    const sshds = all.filter(({ inode }) => this.#known.get(inode));
    return new Map(sshds.map(({ place, address }) => [place, address]));
  }

  #ports(): Listener[] {
    return ownListeners(tcpSockets(listeningLines()), this.#uid).map((socket) => {
      const { port } = socket.local;
      const address = { host: hostOf(socket), port };
      return { place: `tcp:${port}`, inode: socket.inode, address };
    });
  }

  #paths(): Listener[] {
    return unixListeners(unixLines())
      .filter(({ path }) => isOwnSocket(path, this.#uid))
      .map(({ path, inode }) => ({ place: `unix:${path}`, inode, address: { path } }));
  }
}
