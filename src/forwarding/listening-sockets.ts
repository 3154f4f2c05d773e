import { lstatSync, readFileSync } from 'node:fs';
import { listenersIn } from '../system/listening-sockets.ts';
import { addressOf, linesWithin, type TcpSocket } from '../system/tcp-table.ts';

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
  try {
    const status = lstatSync(path);
    return status.isSocket() && status.uid === uid;
  } catch {
    return false;
  }
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
