import { closeSync, openSync, readdirSync, readlinkSync, readSync } from 'node:fs';

/** One end of a TCP connection. */
export interface Endpoint {
  /** IPv4 in dotted form, also for an IPv4 client of a dual-stack socket; otherwise IPv6. */
  readonly address: string;
  readonly port: number;
}

/** `192.0.2.7:22`, `[2001:db8::7]:22`. */
export function endpointText({ address, port }: Endpoint): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
}

export interface TcpConnection {
  readonly local: Endpoint;
  readonly peer: Endpoint;
}

/**
 * The TCP connection that a process holds, from the kernel: the inodes of its sockets, looked up in the list of
 * connections of its network namespace. Of several it is the one with the lowest descriptor: a server has its
 * client's before any that a library opened.
 *
 * @param likely which list is read first; the other one follows
 * @returns undefined if there is none, or the process has ended
 */
export function tcpConnectionOf(
  pid: number,
  likely: 'tcp' | 'tcp6' = 'tcp',
): TcpConnection | undefined {
  const inodes = socketInodes(pid);
  if (inodes.length === 0) return undefined;
  for (const list of likely === 'tcp' ? ['tcp', 'tcp6'] : ['tcp6', 'tcp']) {
    const found = findConnection(`/proc/${pid}/net/${list}`, inodes);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** By descriptor, lowest first. */
function socketInodes(pid: number): readonly string[] {
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

function inodeOf(path: string): string | undefined {
  try {
    return /^socket:\[([0-9]+)\]$/.exec(readlinkSync(path))?.[1];
  } catch {
    return undefined;
  }
}

const connected = '01';
const chunk = Buffer.alloc(65_536);

/** Reads in parts: a host with many connections has a long list, and the end of it need not be read. */
function findConnection(path: string, inodes: readonly string[]): TcpConnection | undefined {
  const found = new Map<string, TcpConnection>();
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, 'r');
    let rest = '';
    for (let read = -1; read !== 0 && found.size < inodes.length;) {
      read = readSync(descriptor, chunk, 0, chunk.length, null);
      const lines = (rest + chunk.toString('latin1', 0, read)).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const [, local, peer, state, , , , , , inode] = line.trim().split(/ +/);
        if (state !== connected || inode === undefined || !inodes.includes(inode)) continue;
        found.set(inode, { local: endpointOf(local), peer: endpointOf(peer) });
        // sshd's connection has the lowest descriptor of all, so the first inode needs no comparison.
        if (inode === inodes[0]) return found.get(inode);
      }
    }
  } catch {
    // No IPv6, or the process has ended.
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
  return inodes.flatMap((inode) => found.get(inode) ?? [])[0];
}

/** `0100007F:0016`: each group of four bytes is a number in the byte order of the host, little-endian. */
function endpointOf(text = ''): Endpoint {
  const [digits = '', port = '0'] = text.split(':');
  const bytes = Buffer.from(digits, 'hex').swap32();
  return { address: addressOf(bytes), port: Number.parseInt(port, 16) };
}

const mapped = '00000000000000000000ffff';

function addressOf(bytes: Buffer): string {
  if (bytes.length === 4) return bytes.join('.');
  if (bytes.toString('hex', 0, 12) === mapped) return bytes.subarray(12).join('.');
  const groups = Array.from({ length: 8 }, (_, at) => bytes.readUInt16BE(at * 2).toString(16));
  return compressed(groups);
}

/** RFC 5952: the longest run of two or more zeros, the first of equally long ones, becomes `::`. */
function compressed(groups: readonly string[]): string {
  const runs = [...groups.join(':').matchAll(/(?:^|(?<=:))0(?::0)+(?=:|$)/g)];
  const [longest] = runs.toSorted((a, b) => b[0].length - a[0].length || a.index - b.index);
  const text = groups.join(':');
  if (longest === undefined) return text;
  const [before, after] = [
    text.slice(0, longest.index).replace(/:$/, ''),
    text.slice(longest.index + longest[0].length).replace(/^:/, ''),
  ];
  return `${before}::${after}`;
}
