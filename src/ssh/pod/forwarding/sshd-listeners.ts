import { mostPlaces } from './protocol/limits.ts';
import { isBridgedName, ownListeners, placeOfName, type Place } from './protocol/endpoints.ts';
import { listensOnLoopback, tcpSockets, type TcpSocket } from './protocol/proc-net-tcp.ts';
import {
  isOwnSocket,
  listeningLines,
  listeningPaths,
  socketsInSight,
} from './listening-sockets.ts';
import { namesIn } from '../../../system/names-in.ts';

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

/** What sshd listens on for the user (`-R`): ports, looked up once for each; sockets in a folder for them. */
export class SshdListeners {
  readonly #uid: number;
  readonly #remoteFolder: string;
  /** By inode of a port's socket: whether it is sshd's. */
  #known = new Map<string, boolean>();

  /** @param remoteFolder The user's own, in a folder of root's: nobody else puts a socket there. */
  constructor(uid: number, remoteFolder: string) {
    this.#uid = uid;
    this.#remoteFolder = remoteFolder;
  }

  /** Addresses by place; the first ones of more than a pod gets. */
  now(): ReadonlyMap<Place, Address> {
    return new Map([...this.#ports(), ...this.#sockets()].slice(0, mostPlaces));
  }

  #ports(): [Place, Address][] {
    const all = ownListeners(tcpSockets(listeningLines()), this.#uid);
    const inSight = all.some(({ inode }) => !this.#known.has(inode))
      ? socketsInSight()
      : new Set<string>();
    this.#known = new Map(
      all.map(({ inode }) => [inode, this.#known.get(inode) ?? !inSight.has(inode)]),
    );
    return all
      .filter(({ inode }) => this.#known.get(inode))
      .map((socket) => {
        const { port } = socket.local;
        return [`tcp:${port}`, { host: hostOf(socket), port }];
      });
  }

  #sockets(): [Place, Address][] {
    const names = namesIn(this.#remoteFolder).filter((name) => isBridgedName(name));
    if (names.length === 0) return [];
    // sshd leaves its sockets behind. Whose one is, only the folder and the file say.
    const listening = listeningPaths(this.#remoteFolder);
    return names
      .map((name) => ({ name, path: `${this.#remoteFolder}/${name}` }))
      .filter(({ path }) => listening.has(path) && isOwnSocket(path, this.#uid))
      .map(({ name, path }) => [placeOfName(name), { path }]);
  }
}
