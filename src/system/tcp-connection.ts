import { readlinkSync } from 'node:fs';
import { socketInodes } from './listening-sockets.ts';
import { establishedConnections } from './socket-statistics.ts';
import {
  addressOf,
  endpointText,
  established,
  linesWithin,
  tcpSocket,
  type Endpoint,
  type ReadBudget,
} from './tcp-table.ts';

export interface TcpConnection {
  readonly local: Endpoint;
  readonly peer: Endpoint;
}

/** Whether a process holds this connection, by the kernel. It takes no longer if others hold many. */
export function holdsConnection(pid: number, { local, peer }: TcpConnection): boolean {
  const ends = ['src', endpointText(local), 'dst', endpointText(peer)];
  const found = establishedConnections(ends) ?? [];
  const own = new Set(socketInodes(pid));
  return found.some(({ inode }) => own.has(inode));
}

export interface FoundTcpConnections {
  /** By PID; without processes that have none, or have ended. */
  readonly connections: ReadonlyMap<number, TcpConnection>;
  /** False if `mostBytes` was reached before all were found: those that were found may be others of the process. */
  readonly complete: boolean;
}

/**
 * The TCP connection that each process holds, from the kernel: the inodes of its sockets, looked up in the list of
 * connections of its network namespace. Of several it is the one with the lowest descriptor: a server has its
 * client's before any that a library opened.
 *
 * Each list is read once. On a host with 10,000 connections that takes about 20 ms.
 *
 * @param mostBytes how much of the kernel's lists to read: a connection takes 150
 */
export function tcpConnectionsOf(
  pids: readonly number[],
  { mostBytes }: { readonly mostBytes: number },
): FoundTcpConnections {
  const inodes = new Map(pids.map((pid) => [pid, socketInodes(pid)]));
  const wanted = new Set([...inodes.values()].flat());
  const budget = { left: mostBytes, exceeded: false };
  const lists = new Map<string, ReadonlyMap<string, TcpConnection>>();
  const connections = new Map<number, TcpConnection>();
  for (const [pid, own] of inodes) {
    const namespace = networkNamespace(pid);
    const list = lists.get(namespace) ?? connectionsIn(pid, wanted, budget);
    lists.set(namespace, list);
    const inode = own.find((one) => list.has(one));
    const connection = inode === undefined ? undefined : list.get(inode);
    if (connection !== undefined) connections.set(pid, connection);
  }
  return { connections, complete: !budget.exceeded };
}

function networkNamespace(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`);
  } catch {
    return '';
  }
}

/** The established connections of the process's network namespace with these inodes. */
function connectionsIn(
  pid: number,
  wanted: ReadonlySet<string>,
  budget: ReadBudget,
): ReadonlyMap<string, TcpConnection> {
  const found = new Map<string, TcpConnection>();
  for (const list of ['tcp', 'tcp6'])
    for (const line of linesWithin(`/proc/${pid}/net/${list}`, budget)) {
      const socket = line.includes(' 01 ') ? tcpSocket(line) : undefined;
      if (socket?.state !== established || !wanted.has(socket.inode)) continue;
      const { local, remote } = socket;
      found.set(socket.inode, { local: endpointOf(local), peer: endpointOf(remote) });
    }
  return found;
}

function endpointOf({ address, port }: Endpoint): Endpoint {
  return { address: addressOf(address), port };
}
