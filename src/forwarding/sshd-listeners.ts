import { maxEndpoints } from './protocol/limits.ts';
import {
  isForwardedName,
  isForwardedPort,
  unixEndpoint,
  type Endpoint,
} from './protocol/forwardable-endpoints.ts';
import { isOwnSocket, listeningPaths, loopbackListeners } from './listening-sockets.ts';
import { directoryNames } from '../system/if-present.ts';
import { readableSocketInodes } from '../system/listening-sockets.ts';
import { addressOf, type TcpSocket } from '../system/tcp-table.ts';

/** The address on which sshd listens for a display of this user; undefined if there is none. */
export function displayAddress(display: number, uid: number): string | undefined {
  const found = loopbackListeners().find(
    (socket) => socket.uid === uid && socket.local.port === 6000 + display,
  );
  return found === undefined ? undefined : hostOf(found);
}

function hostOf({ local }: TcpSocket): string {
  return addressOf(local.address).includes(':') ? '::1' : '127.0.0.1';
}

/** Sockets of a user: sshd may have opened them for `-R`. */
export function userListeners(listeners: readonly TcpSocket[], uid: number): TcpSocket[] {
  return listeners.filter((socket) => socket.uid === uid && isForwardedPort(socket.local.port));
}

/** The address of a listening socket. */
export type Address = { readonly path: string } | { readonly host: string; readonly port: number };

/** What sshd listens on for the user (`-R`): ports, and Unix sockets in one directory. */
export class SshdListeners {
  readonly #uid: number;
  readonly #remoteDirectory: string;
  /** Whether a socket is sshd's, by its inode: this is looked up once for each port. */
  #known = new Map<string, boolean>();

  /** @param remoteDirectory a directory that nobody else can write, since its parent is root's */
  constructor(uid: number, remoteDirectory: string) {
    this.#uid = uid;
    this.#remoteDirectory = remoteDirectory;
  }

  /** Addresses by endpoint, at most as many as a pod may have. */
  now(): ReadonlyMap<Endpoint, Address> {
    return new Map([...this.#ports(), ...this.#sockets()].slice(0, maxEndpoints));
  }

  #ports(): [Endpoint, Address][] {
    const all = userListeners(loopbackListeners(), this.#uid);
    const inSight = all.some(({ inode }) => !this.#known.has(inode))
      ? readableSocketInodes()
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

  #sockets(): [Endpoint, Address][] {
    const names = directoryNames(this.#remoteDirectory).filter((name) => isForwardedName(name));
    if (names.length === 0) return [];
    // sshd does not remove its sockets. Only the directory and the file show who owns one.
    const listening = listeningPaths(this.#remoteDirectory);
    return names
      .map((name) => ({ name, path: `${this.#remoteDirectory}/${name}` }))
      .filter(({ path }) => listening.has(path) && isOwnSocket(path, this.#uid))
      .map(({ name, path }) => [unixEndpoint(name), { path }]);
  }
}
