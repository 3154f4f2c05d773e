import { readFile } from 'node:fs/promises';
import { addressOf } from './tcp-table.ts';
import { listenersIn, processIds, socketInodes } from './tcp-listeners.ts';

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
