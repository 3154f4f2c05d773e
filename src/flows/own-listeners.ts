import { ownListeners } from '../session/bridge/mirrored-ports.ts';
import { listensOnLoopback, tcpSockets, type TcpSocket } from '../session/bridge/proc-net-tcp.ts';
import { listeningLines, socketsInSight } from '../system/tcp-sockets.ts';

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

/** What sshd listens on for the user (`-R`), looked up once for each socket. */
export class SshdListeners {
  readonly #uid: number;
  /** By inode: whether it is sshd's. */
  #known = new Map<string, boolean>();

  constructor(uid: number) {
    this.#uid = uid;
  }

  /** Addresses by port. */
  now(): ReadonlyMap<number, string> {
    const all = ownListeners(tcpSockets(listeningLines()), this.#uid);
    const inSight = all.some(({ inode }) => !this.#known.has(inode))
      ? socketsInSight()
      : new Set<string>();
    this.#known = new Map(
      all.map(({ inode }) => [inode, this.#known.get(inode) ?? !inSight.has(inode)]),
    );
    return new Map(
      all
        .filter(({ inode }) => this.#known.get(inode))
        .map((socket) => [socket.local.port, hostOf(socket)]),
    );
  }
}
