import { readlinkSync } from 'node:fs';
import { runProgramSync } from './run-program.ts';
import { socketInodes } from './tcp-listeners.ts';
import {
  addressOf,
  type Endpoint,
  endpointText,
  established,
  linesWithin,
  type ReadBudget,
  tcpSocket,
} from './tcp-table.ts';

export interface TcpConnection {
  readonly local: Endpoint;
  readonly peer: Endpoint;
}

/** Whether a process holds this connection, by the kernel. It takes no longer if others hold many. */
export function holdsConnection(pid: number, { local, peer }: TcpConnection): boolean {
  const ends = ['src', endpointText(local), 'dst', endpointText(peer)];
  const found = tcpConnections(ends) ?? [];
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

/** A TCP connection of this network namespace. */
interface SocketStatistics extends TcpConnection {
  /** In /proc/PID/fd it is `socket:[INODE]`. */
  readonly inode: string;
  /** Milliseconds since the peer last sent data; acknowledgements do not count. */
  readonly sinceReceivedMs: number;
  /** Of data. */
  readonly receivedBytes: number;
  /** Of data that the peer has acknowledged. */
  readonly sentBytes: number;
}

/** Milliseconds. Of 60,000 connections the kernel selects one in 20. */
const timeoutMs = 2_000;

/** Bytes, of some ten thousand connections. */
const mostBytes = 16 * 1024 * 1024;

/**
 * The TCP connections that match, from the kernel through ss(8) of iproute2. The kernel applies the filter
 * (sock_diag(7)): however many connections users open, those of others are not read.
 *
 * @param filter as in ss(8): `['sport', '=', ':22']`
 * @param state `connected` also for those whose other end has been closed
 * @returns undefined if ss is missing, fails, or is not done in time
 */
export function tcpConnections(
  filter: readonly string[],
  state: 'established' | 'connected' = 'established',
): readonly SocketStatistics[] | undefined {
  const { status, stdout } = runProgramSync('ss', ['-tHOnei', 'state', state, ...filter], {
    timeoutMs,
    maxBuffer: mostBytes,
    encoding: 'latin1',
  });
  return status === 0 ? stdout.split('\n').flatMap(statisticsOf) : undefined;
}

/** `0 0 192.0.2.1:22 [2001:db8::7]:4711 … ino:4026 … lastrcv:12 …` */
function statisticsOf(line: string): SocketStatistics[] {
  const [, local, localPort, peer, peerPort, inode] =
    /(\S+):(\d+) +(\S+):(\d+) .*?\bino:(\d+)/.exec(line) ?? [];
  if (local === undefined || peer === undefined || inode === undefined) return [];
  // The kernel's clock counts from the connection's start; without data ss prints nothing.
  const sinceReceivedMs = Number(/ lastrcv:(\d+)/.exec(line)?.[1] ?? 0);
  const counter = (name: string): number =>
    Number(new RegExp(` ${name}:(\\d+)`).exec(line)?.[1] ?? 0);
  return [
    {
      local: endpoint(local, localPort),
      peer: endpoint(peer, peerPort),
      inode,
      sinceReceivedMs,
      receivedBytes: counter('bytes_received'),
      sentBytes: counter('bytes_acked'),
    },
  ];
}

/** `[::ffff:192.0.2.7]` is an IPv4 client of a dual-stack socket. */
function endpoint(text: string, port: string | undefined): Endpoint {
  const address = text.replace(/^\[(.*)\]$/, '$1').replace(/^::ffff:(?=\d+\.)/, '');
  return { address, port: Number(port) };
}
