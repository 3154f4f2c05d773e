import { spawnSync } from 'node:child_process';
import type { TcpConnection } from './tcp-connection.ts';
import type { Endpoint } from './tcp-table.ts';

/** An established TCP connection of this network namespace. */
export interface SocketStatistics extends TcpConnection {
  /** In /proc/PID/fd it is `socket:[INODE]`. */
  readonly inode: string;
  /** Milliseconds since the peer last sent data; acknowledgements do not count. */
  readonly sinceReceivedMs: number;
}

/** Milliseconds. Of 60,000 connections the kernel selects one in 20. */
const limitMs = 2_000;

/** Bytes, of some ten thousand connections. */
const mostBytes = 16 * 1024 * 1024;

/**
 * The established TCP connections that match, from the kernel through ss(8) of iproute2. The kernel applies the filter
 * (sock_diag(7)): however many connections users open, those of others are not read.
 *
 * @param filter as in ss(8): `['sport', '=', ':22']`
 * @returns undefined if ss is missing, fails, or is not done in time
 */
export function establishedConnections(
  filter: readonly string[],
): readonly SocketStatistics[] | undefined {
  const { status, stdout } = spawnSync('ss', ['-tHOnei', 'state', 'established', ...filter], {
    ...{ cwd: '/', env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' }, encoding: 'latin1' },
    ...{ timeout: limitMs, maxBuffer: mostBytes, stdio: ['ignore', 'pipe', 'ignore'] },
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
  return [
    { local: endpoint(local, localPort), peer: endpoint(peer, peerPort), inode, sinceReceivedMs },
  ];
}

/** `[::ffff:192.0.2.7]` is an IPv4 client of a dual-stack socket. */
function endpoint(text: string, port: string | undefined): Endpoint {
  const address = text.replace(/^\[(.*)\]$/, '$1').replace(/^::ffff:(?=\d+\.)/, '');
  return { address, port: Number(port) };
}
