import { lstatSync, readFileSync } from 'node:fs';
import { directoryNames, ifReadable } from '../../system/if-present.ts';
import { listenersIn, readableSocketInodes } from '../../system/tcp-listeners.ts';
import { addressOf, linesWithin, type TcpSocket } from '../../system/tcp-table.ts';
import {
  type Endpoint,
  isForwardedName,
  isForwardedPort,
  unixEndpoint,
} from './protocol/forwardable-endpoints.ts';
import { maxEndpoints } from './protocol/limits.ts';

/** The address on which sshd listens for a display of this user; undefined if there is none. */
export function displayAddress(display: number, uid: number): string | undefined {
  const found = loopbackListeners().find(
    (socket) => socket.uid === uid && socket.local.port === 6000 + display,
  );
  return found && hostOf(found);
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

/** Listening sockets that accept connections on loopback. @param tables as in proc(5) */
export function loopbackListeners(
  tables = ['/proc/self/net/tcp', '/proc/self/net/tcp6'],
): TcpSocket[] {
  return tables.flatMap((table) =>
    [...listenersIn(table)].filter(({ local }) => loopback.has(addressOf(local.address))),
  );
}

const loopback = new Set(['127.0.0.1', '0.0.0.0', '::1', '::']);

/** The ports that the site reserves for its services (`net.ipv4.ip_local_reserved_ports`), as the kernel formats them. */
export function reservedPorts(): string {
  return readFileSync('/proc/sys/net/ipv4/ip_local_reserved_ports', 'latin1').trim();
}

/** Whether the path is a socket that belongs to this user. */
export function isOwnSocket(path: string, uid: number): boolean {
  const status = ifReadable(() => lstatSync(path));
  return status?.isSocket() === true && status.uid === uid;
}

/**
 * The paths below a directory on which a Unix socket listens (proc(5), /proc/net/unix). Users choose the paths in that
 * table, and a path can imitate a line of it: so it shows what may exist, and not who owns it.
 */
export function listeningPaths(directory: string): ReadonlySet<string> {
  const found = new Set<string>();
  for (const line of linesWithin('/proc/self/net/unix', { left: Infinity, exceeded: false })) {
    // Num RefCount Protocol Flags Type St Inode Path; __SO_ACCEPTCON, SOCK_STREAM.
    const path = /^\S+ \S+ \S+ 00010000 0001 \S+ +\d+ (\/.*)$/.exec(line)?.[1];
    if (path?.startsWith(`${directory}/`) === true) found.add(path);
  }
  return found;
}
