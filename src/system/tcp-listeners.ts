import { readdirSync, readlinkSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { addressOf, linesWithin, listening, tcpSocket, type TcpSocket } from './tcp-table.ts';

/** A TCP socket of this network namespace that accepts connections. */
export interface ListeningSocket {
  /** `0.0.0.0` and `::` stand for all addresses. */
  readonly address: string;
  readonly port: number;
  /** In /proc/PID/fd it is `socket:[INODE]`. */
  readonly inode: string;
}

/** A few lines of a table: listening sockets come first. Bytes. */
const partBytes = 512;

/** At most about 6,000 listening sockets are read. Bytes. */
const longestListening = 1024 * 1024;

/** The listening sockets in a table such as /proc/net/tcp. However many connections users open, they are not read. */
export function* listenersIn(table: string): Generator<TcpSocket> {
  const budget = { left: longestListening, exceeded: false };
  for (const line of linesWithin(table, budget, partBytes)) {
    const socket = tcpSocket(line);
    if (socket === undefined) continue;
    if (socket.state !== listening) return;
    yield socket;
  }
}

/** All TCP sockets on which programs listen. */
export function listeningTcpSockets(): ListeningSocket[] {
  return ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((table) =>
    [...listenersIn(table)].map(({ local: { address, port }, inode }) => ({
      address: addressOf(address),
      port,
      inode,
    })),
  );
}

/** TCP ports on which any program listens: sshd's command line or a socket unit may add ports to those of its file. */
export function listeningTcpPorts(): number[] {
  return [...new Set(listeningTcpSockets().map(({ port }) => port))];
}

/** PIDs of the processes that have the socket open. Other users' processes are visible to root only. */
export function socketHolders(inode: string): number[] {
  return processIds().filter((pid) => socketInodes(pid).includes(inode));
}

/**
 * Inodes of the sockets of all processes whose descriptors this process can read: of a user, the own programs. sshd's
 * processes are not readable, even those that run as the user, because they have dropped root (proc(5),
 * PR_SET_DUMPABLE).
 */
export function readableSocketInodes(): ReadonlySet<string> {
  return new Set(processIds().flatMap((pid) => socketInodes(pid)));
}

function processIds(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/** The inodes of a process's sockets by descriptor, lowest first. None if it has ended or may not be read. */
export function socketInodes(pid: number): string[] {
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

/** Undefined if it is no socket, or has just been closed. */
function inodeOf(path: string): string | undefined {
  try {
    return /^socket:\[(\d+)\]$/.exec(readlinkSync(path))?.[1];
  } catch {
    return undefined;
  }
}

/** The kernel's default. */
const usual = 1024;

/** The lowest port of this network namespace on which users other than root may listen. */
export async function firstUnprivilegedPort(): Promise<number> {
  // Kernels before 4.11 do not have it.
  const text = await readFile('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8').catch(() =>
    String(usual),
  );
  return Number(text.trim());
}
