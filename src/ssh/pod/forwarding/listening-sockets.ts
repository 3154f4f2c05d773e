import {
  closeSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { isErrno } from '../../../errors.ts';

/** A few lines. For a larger read, the kernel goes through all connections of the host to fill it. Bytes. */
const pieceSize = 512;

/** At most about 6,000 listening sockets are read. Bytes. */
const longestListening = 1024 * 1024;

const connected = /^ *\d+: \S+ \S+ (?!0A)\S\S /m;

/** The lines of listening sockets in /proc/net/tcp and tcp6, which come first, and possibly some others. */
export function listeningLines(): string {
  return ['/proc/self/net/tcp', '/proc/self/net/tcp6'].map(listeningIn).join('\n');
}

function listeningIn(path: string): string {
  let descriptor;
  try {
    descriptor = openSync(path, 'r');
  } catch {
    // No IPv6.
    return '';
  }
  try {
    const piece = Buffer.alloc(pieceSize);
    const pieces: string[] = [];
    let [size, line] = [0, ''];
    for (;;) {
      const count = readSync(descriptor, piece);
      const text = piece.toString('latin1', 0, count);
      pieces.push(text);
      size += count;
      line += text;
      if (count === 0 || size > longestListening || connected.test(line)) return pieces.join('');
      // The last line may be incomplete.
      line = line.slice(line.lastIndexOf('\n') + 1);
    }
  } finally {
    closeSync(descriptor);
  }
}

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

const tableSize = 64 * 1024;

/**
 * The paths below a directory on which a Unix socket listens (proc(5), /proc/net/unix). Users choose the paths in that
 * table, and a path can imitate a line of it: so it shows what may exist, and not who owns it.
 */
export function listeningPaths(directory: string): ReadonlySet<string> {
  const found = new Set<string>();
  const descriptor = openSync('/proc/self/net/unix', 'r');
  try {
    const buffer = Buffer.alloc(tableSize);
    let rest = '';
    for (let count = -1; count !== 0;) {
      count = readSync(descriptor, buffer);
      const lines = (rest + buffer.toString('latin1', 0, count)).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        // Num RefCount Protocol Flags Type St Inode Path; __SO_ACCEPTCON, SOCK_STREAM.
        const path = /^\S+ \S+ \S+ 00010000 0001 \S+ +\d+ (\/.*)$/.exec(line)?.[1];
        if (path?.startsWith(`${directory}/`) === true) found.add(path);
      }
    }
    return found;
  } finally {
    closeSync(descriptor);
  }
}

/**
 * All of /proc/net/tcp and tcp6, several complete lines at a time, because the table can be large on a busy host. All of
 * it comes from the kernel; it contains no names or paths that a user chose.
 */
export async function* tcpLines(): AsyncGenerator<string> {
  for (const name of ['tcp', 'tcp6']) {
    const file = await open(`/proc/self/net/${name}`).catch((error: unknown) => {
      if (isErrno(error, 'ENOENT')) return undefined;
      throw error;
    });
    if (file === undefined) continue;
    try {
      const buffer = Buffer.alloc(tableSize);
      let rest = '';
      for (;;) {
        const { bytesRead } = await file.read(buffer);
        if (bytesRead === 0) break;
        const text = rest + buffer.toString('latin1', 0, bytesRead);
        const end = text.lastIndexOf('\n') + 1;
        rest = text.slice(end);
        yield text.slice(0, end);
      }
    } finally {
      await file.close();
    }
  }
}

/**
 * Inodes of the sockets of all processes whose descriptors this process can read: the user's own programs. sshd's
 * processes are not readable, even those that run as the user, because they have dropped root (proc(5),
 * PR_SET_DUMPABLE).
 */
export function readableSocketInodes(): ReadonlySet<string> {
  const inodes = new Set<string>();
  for (const pid of readdirSync('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    for (const link of linksIn(`/proc/${pid}/fd`)) {
      const inode = /^socket:\[(\d+)\]$/.exec(link)?.[1];
      if (inode !== undefined) inodes.add(inode);
    }
  }
  return inodes;
}

function linksIn(directory: string): string[] {
  try {
    return readdirSync(directory).map((name) => linkOf(`${directory}/${name}`));
  } catch {
    return [];
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    // It has just been closed.
    return '';
  }
}
