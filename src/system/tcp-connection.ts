import { readdirSync, readlinkSync } from 'node:fs';
import { linesWithin, type ReadBudget } from './kernel-socket-list.ts';
import { establishedConnections } from './socket-statistics.ts';

/** One end of a TCP connection. */
export interface Endpoint {
  /** IPv4 in dotted form, also for an IPv4 client of a dual-stack socket; otherwise IPv6. */
  readonly address: string;
  readonly port: number;
}

/** `192.0.2.7:22`, `[2001:db8::7]:22`. */
export function endpointText({ address, port }: Endpoint): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}

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

/** By descriptor, lowest first. */
function socketInodes(pid: number): readonly string[] {
  const directory = `/proc/${pid}/fd`;
  try {
    return readdirSync(directory)
      .map(Number)
      .sort((a, b) => a - b)
      .flatMap((descriptor) => inodeOf(`${directory}/${descriptor}`) ?? []);
  } catch {
    return [];
  }
}

function inodeOf(path: string): string | undefined {
  try {
    return /^socket:\[([0-9]+)\]$/.exec(readlinkSync(path))?.[1];
  } catch {
    return undefined;
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
      if (!line.includes(' 01 ')) continue;
      const [, local, peer, state, , , , , , inode] = line.trim().split(/ +/);
      if (state !== '01' || inode === undefined || !wanted.has(inode)) continue;
      found.set(inode, { local: endpointOf(local), peer: endpointOf(peer) });
    }
  return found;
}

/** `0100007F:0016`: each group of four bytes is a number in the byte order of the host, little-endian. */
function endpointOf(text = ''): Endpoint {
  const [digits = '', port = '0'] = text.split(':');
  const bytes = Buffer.from(digits, 'hex').swap32();
  return { address: addressOf(bytes), port: Number.parseInt(port, 16) };
}

const mapped = '00000000000000000000ffff';

function addressOf(bytes: Buffer): string {
  if (bytes.length === 4) return bytes.join('.');
  if (bytes.toString('hex', 0, 12) === mapped) return bytes.subarray(12).join('.');
  const groups = Array.from({ length: 8 }, (_, at) => bytes.readUInt16BE(at * 2).toString(16));
  return compressed(groups);
}

/** RFC 5952: the longest run of two or more zeros, the first of equally long ones, becomes `::`. */
function compressed(groups: readonly string[]): string {
  const runs = [...groups.join(':').matchAll(/(?:^|(?<=:))0(?::0)+(?=:|$)/g)];
  const [longest] = runs.toSorted((a, b) => b[0].length - a[0].length || a.index - b.index);
  const text = groups.join(':');
  if (longest === undefined) return text;
  const [before, after] = [
    text.slice(0, longest.index).replace(/:$/, ''),
    text.slice(longest.index + longest[0].length).replace(/^:/, ''),
  ];
  return `${before}::${after}`;
}
