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

/** Some lines. The kernel fills more with sockets that do not listen, for which it goes through all of the host. */
const pieceSize = 512;

/** More than 6,000 sockets that listen are not looked at. Bytes. */
const longestListening = 1024 * 1024;

const connected = /^ *\d+: \S+ \S+ (?!0A)\S\S /m;

/** Those lines of /proc/net/tcp and tcp6 that listen, which stand first; and perhaps some more. */
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
      // The last one may not be whole.
      line = line.slice(line.lastIndexOf('\n') + 1);
    }
  } finally {
    closeSync(descriptor);
  }
}

/** Ports that the site keeps for its services (`net.ipv4.ip_local_reserved_ports`), as the kernel writes them. */
export function reservedPorts(): string {
  return readFileSync('/proc/sys/net/ipv4/ip_local_reserved_ports', 'latin1').trim();
}

/** Whether a path is a socket of this user's. */
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
 * At which paths below a folder something listens (proc(5), /proc/net/unix). The paths in that table are
 * what users wrote, and one may look like another line: it tells what may be there, and never whose it is.
 */
export function listeningPaths(folder: string): ReadonlySet<string> {
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
        if (path?.startsWith(`${folder}/`) === true) found.add(path);
      }
    }
    return found;
  } finally {
    closeSync(descriptor);
  }
}

/**
 * All of /proc/net/tcp and tcp6, some whole lines at a time: on a busy host the table is as large as its
 * users make it. All that is in it is the kernel's word; no name or path of a user's is.
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
 * Inodes of the sockets that processes hold into which this one may look: the user's own programs. sshd's
 * processes are not among them, also those that are the user's: they gave up being root (proc(5),
 * PR_SET_DUMPABLE).
 */
export function socketsInSight(): ReadonlySet<string> {
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

function linksIn(folder: string): string[] {
  try {
    return readdirSync(folder).map((name) => linkOf(`${folder}/${name}`));
  } catch {
    return [];
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    // Closed at this moment.
    return '';
  }
}
