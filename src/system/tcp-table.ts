import { closeSync, openSync, readSync } from 'node:fs';

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

/** A socket as /proc/net/tcp and tcp6 list it (proc(5)). */
export interface TcpSocket {
  /** Addresses as in the file, for `addressOf`: most callers want a few of many thousand. */
  readonly local: Endpoint;
  readonly remote: Endpoint;
  readonly state: number;
  readonly uid: number;
  /** In /proc/PID/fd it is `socket:[INODE]`. */
  readonly inode: string;
}

/** States of sockets, as the kernel numbers them. */
export const [established, listening] = [1, 10] as const;

const fields =
  /^ *\d+: ([0-9A-F]{8,32}):([0-9A-F]{4}) ([0-9A-F]{8,32}):([0-9A-F]{4}) ([0-9A-F]{2}) \S+ \S+ \S+ +(\d+) +\d+ (\d+) /;

/** Parses a line of the file. The heading and incomplete lines have no socket. */
export function tcpSocket(line: string): TcpSocket | undefined {
  const [, local, localPort, remote, remotePort, state, uid, inode] = fields.exec(line) ?? [];
  if (local === undefined || remote === undefined || inode === undefined) return undefined;
  return {
    local: { address: local, port: hex(localPort) },
    remote: { address: remote, port: hex(remotePort) },
    state: hex(state),
    uid: Number(uid),
    inode,
  };
}

function hex(digits = ''): number {
  return Number.parseInt(digits, 16);
}

const mapped = '00000000000000000000ffff';

/**
 * The address that a socket has in the file: each group of four bytes is a number in the byte order of the host,
 * little-endian. `0100007F` is 127.0.0.1.
 */
export function addressOf(digits: string): string {
  const bytes = Buffer.from(digits, 'hex').swap32();
  if (bytes.length === 4) return bytes.join('.');
  if (bytes.toString('hex', 0, 12) === mapped) return bytes.subarray(12).join('.');
  const groups = Array.from({ length: 8 }, (_, at) => bytes.readUInt16BE(at * 2).toString(16));
  return compressed(groups);
}

/** RFC 5952: the longest run of two or more zeros, the first of equally long ones, becomes `::`. */
function compressed(groups: readonly string[]): string {
  const text = groups.join(':');
  const runs = [...text.matchAll(/(?:^|(?<=:))0(?::0)+(?=:|$)/g)];
  const [longest] = runs.toSorted((a, b) => b[0].length - a[0].length || a.index - b.index);
  if (longest === undefined) return text;
  const [before, after] = [
    text.slice(0, longest.index).replace(/:$/, ''),
    text.slice(longest.index + longest[0].length).replace(/^:/, ''),
  ];
  return `${before}::${after}`;
}

/** What may still be read of the kernel's lists; a user can open hundreds of thousands of sockets. */
export interface ReadBudget {
  /** Bytes. */
  left: number;
  /** Whether a list was not read to its end because of it. */
  exceeded: boolean;
}

/**
 * The complete lines of a file such as /proc/PID/net/tcp, read in parts and only as far as the caller takes them. A file
 * that cannot be opened (no IPv6, the process has ended) has none.
 *
 * @param partBytes A few lines, if the first ones are enough: for a larger part the kernel goes through all connections
 *   of the host to fill it.
 */
export function* linesWithin(
  path: string,
  budget: ReadBudget,
  partBytes = 64 * 1024,
): Generator<string> {
  let descriptor: number;
  try {
    descriptor = openSync(path, 'r');
  } catch {
    return;
  }
  try {
    const part = Buffer.alloc(partBytes);
    let begun = '';
    for (;;) {
      const read = readPart(descriptor, part, budget);
      if (read === 0) break;
      const lines = (begun + part.toString('latin1', 0, read)).split('\n');
      begun = lines.pop() ?? '';
      yield* lines;
    }
    if (begun !== '' && !budget.exceeded) yield begun;
  } finally {
    closeSync(descriptor);
  }
}

/** @returns 0 at the end, or if the budget is used up and there is more */
function readPart(descriptor: number, part: Buffer, budget: ReadBudget): number {
  let read: number;
  try {
    read = readSync(descriptor, part, 0, Math.max(1, Math.min(part.length, budget.left)), null);
  } catch {
    // ESRCH: the process has ended.
    return 0;
  }
  if (read > budget.left) {
    budget.exceeded = true;
    return 0;
  }
  budget.left -= read;
  return read;
}
