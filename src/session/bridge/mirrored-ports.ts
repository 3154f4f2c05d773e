import type { TcpSocket } from './proc-net-tcp.ts';
import { listensOnLoopback } from './proc-net-tcp.ts';

/** Displays of X11 forwarding: each session sees to its own. */
const displays = { from: 6010, to: 6099 } as const;

/** More than any session has; a program that listens on thousands gets these. */
const mostPorts = 256;

/** Whether a port is one that the bridge carries: those below are root's on the login node. */
export function isBridged(port: number): boolean {
  return port >= 1024 && port <= 65_535 && (port < displays.from || port > displays.to);
}

/** Sockets of a user that listen on loopback, which may be sshd's for a `-R`. */
export function ownListeners(sockets: readonly TcpSocket[], uid: number): TcpSocket[] {
  return sockets.filter(
    (socket) => socket.uid === uid && listensOnLoopback(socket) && isBridged(socket.local.port),
  );
}

/** Ports that another half said, as far as they can be ones. */
export function saidPorts(said: unknown): number[] {
  if (!Array.isArray(said)) return [];
  const ports = said.filter(
    (port): port is number => Number.isInteger(port) && isBridged(port as number),
  );
  return [...new Set(ports)].slice(0, mostPorts);
}

export interface PortChanges {
  readonly added: readonly number[];
  readonly removed: readonly number[];
}

export function portChanges(before: Iterable<number>, now: Iterable<number>): PortChanges {
  const [old, current] = [new Set(before), new Set(now)];
  return {
    added: [...current].filter((port) => !old.has(port)),
    removed: [...old].filter((port) => !current.has(port)),
  };
}
