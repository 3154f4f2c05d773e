import {
  closeSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
} from 'node:fs';
import { readFile } from 'node:fs/promises';

/** Some lines. The kernel fills more with sockets that do not listen, for which it goes through all of the host. */
const pieceSize = 512;

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
    let text = '';
    for (;;) {
      const count = readSync(descriptor, piece);
      text += piece.toString('latin1', 0, count);
      if (count === 0 || connected.test(text)) return text;
    }
  } finally {
    closeSync(descriptor);
  }
}

/** All of /proc/net/unix. */
export function unixLines(): string {
  return readFileSync('/proc/self/net/unix', 'latin1');
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

/** All of /proc/net/tcp and tcp6. */
export async function tcpLines(): Promise<string> {
  const read = (name: string) => readFile(`/proc/self/net/${name}`, 'latin1').catch(() => '');
  return (await Promise.all(['tcp', 'tcp6'].map(read))).join('\n');
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
