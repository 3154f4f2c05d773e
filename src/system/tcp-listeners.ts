import { readdirSync } from 'node:fs';
import { descriptorTargets } from './path-descriptor.ts';
import { linesWithin, listening, tcpSocket, type TcpSocket } from './tcp-table.ts';

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

/**
 * Inodes of the sockets of all processes whose descriptors this process can read: of a user, the own programs. sshd's
 * processes are not readable, even those that run as the user, because they have dropped root (proc(5),
 * PR_SET_DUMPABLE).
 */
export function readableSocketInodes(): ReadonlySet<string> {
  return new Set(processIds().flatMap((pid) => socketInodes(pid)));
}

export function processIds(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

/** The inodes of a process's sockets by descriptor, lowest first. None if it has ended or may not be read. */
export function socketInodes(pid: number): string[] {
  return descriptorTargets(pid).flatMap((target) => /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? []);
}
