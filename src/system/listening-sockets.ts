import { readdirSync, readlinkSync } from 'node:fs';
import { addressOf, linesWithin, listening, tcpSocket } from './tcp-table.ts';

/** A TCP socket of this network namespace that accepts connections. */
export interface ListeningSocket {
  /** `0.0.0.0` and `::` stand for all addresses. */
  readonly address: string;
  readonly port: number;
  /** In /proc/PID/fd it is `socket:[INODE]`. */
  readonly inode: string;
}

/** All TCP sockets on which programs listen. */
export function listeningTcpSockets(): ListeningSocket[] {
  const unlimited = { left: Infinity, exceeded: false };
  return ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) =>
    [...linesWithin(file, unlimited)].flatMap((line) => {
      const socket = tcpSocket(line);
      if (socket?.state !== listening) return [];
      const { local, inode } = socket;
      return [{ address: addressOf(local.address), port: local.port, inode }];
    }),
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
