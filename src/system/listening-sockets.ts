import { readFile } from 'node:fs/promises';
import { readdirSync, readlinkSync } from 'node:fs';

/** A TCP socket of this network namespace that accepts connections. */
export interface ListeningSocket {
  /** `0.0.0.0` and `::` stand for all addresses. */
  readonly address: string;
  readonly port: number;
  /** In /proc/PID/fd it is `socket:[INODE]`. */
  readonly inode: string;
}

/** `TCP_LISTEN` in /proc/net/tcp. */
const listening = '0A';

/** All TCP sockets on which programs listen. */
export async function listeningTcpSockets(): Promise<ListeningSocket[]> {
  const sockets: ListeningSocket[] = [];
  for (const file of ['/proc/net/tcp', '/proc/net/tcp6']) {
    // Without IPv6 there is no tcp6.
    const text = await readFile(file, 'utf8').catch(() => '');
    for (const line of text.split('\n').slice(1)) {
      const fields = line.trim().split(/\s+/);
      const [, local = '', , state] = fields;
      if (state !== listening) continue;
      const [address = '', port = ''] = local.split(':');
      sockets.push({
        address: addressOf(address),
        port: Number.parseInt(port, 16),
        inode: fields[9] ?? '',
      });
    }
  }
  return sockets;
}

/** TCP ports on which any program listens: sshd's command line or a socket unit may add ports to those of its file. */
export async function listeningTcpPorts(): Promise<number[]> {
  return [...new Set((await listeningTcpSockets()).map(({ port }) => port))];
}

/** PIDs of the processes that have the socket open. Other users' processes are visible to root only. */
export function socketHolders(inode: string): number[] {
  const target = `socket:[${inode}]`;
  return readdirSync('/proc')
    .filter((name) => /^[0-9]+$/.test(name))
    .map(Number)
    .filter((pid) => hasOpen(pid, target));
}

/** False for a process that has ended meanwhile. */
function hasOpen(pid: number, target: string): boolean {
  try {
    const directory = `/proc/${pid}/fd`;
    return readdirSync(directory).some((name) => readlinkSync(`${directory}/${name}`) === target);
  } catch {
    return false;
  }
}

/** The kernel prints 32-bit words in host byte order: `0100007F` is 127.0.0.1. */
function addressOf(hex: string): string {
  const words = hex.match(/.{8}/g) ?? [];
  const bytes = words.flatMap((word) => (word.match(/../g) ?? []).reverse());
  if (bytes.length === 4) return bytes.map((byte) => Number.parseInt(byte, 16)).join('.');
  const groups = Array.from({ length: 8 }, (_, index) =>
    Number.parseInt(bytes.slice(2 * index, 2 * index + 2).join(''), 16),
  );
  if (groups.every((group) => group === 0)) return '::';
  return groups.map((group) => group.toString(16)).join(':');
}
