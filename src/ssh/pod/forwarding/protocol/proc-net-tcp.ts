/** A socket as /proc/net/tcp and tcp6 list it (proc(5)). */
export interface TcpSocket {
  readonly local: TcpEnd;
  readonly remote: TcpEnd;
  /** 10 where it listens; 1 where the connection stands. */
  readonly state: number;
  readonly uid: number;
  readonly inode: string;
}

export interface TcpEnd {
  /** As the file writes it: hexadecimal, 8 digits of IPv4 or 32 of IPv6. */
  readonly address: string;
  readonly port: number;
}

const listening = 10;

/** Lines of the file; the heading and what is cut off are nothing. */
export function tcpSockets(text: string): TcpSocket[] {
  return text.split('\n').flatMap((line) => tcpSocket(line) ?? []);
}

const fields =
  /^ *\d+: ([0-9A-F]{8,32}):([0-9A-F]{4}) ([0-9A-F]{8,32}):([0-9A-F]{4}) ([0-9A-F]{2}) \S+ \S+ \S+ +(\d+) +\d+ (\d+) /;

function tcpSocket(line: string): TcpSocket | undefined {
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

/** Each four bytes are a number of the machine's, which is little-endian. */
const reachable = [
  '0100007F',
  '00000000',
  '0'.repeat(32),
  '00000000000000000000000001000000',
  '0000000000000000FFFF00000100007F',
];

/** Listens where the own machine's loopback leads. */
export function listensOnLoopback({ state, local }: TcpSocket): boolean {
  return state === listening && reachable.includes(local.address);
}

/**
 * The user whose socket is the other end of a connection within this machine.
 *
 * @param here Our end.
 * @param there The other end, as our end sees it: IPv4 as four numbers, or `::1`.
 * @returns nothing where no such socket stands: whoever had it has closed it
 */
export function uidAtOtherEnd(
  sockets: readonly TcpSocket[],
  here: IpEnd,
  there: IpEnd,
): number | undefined {
  const [ours, theirs] = [inFile(here.address), inFile(there.address)];
  if (ours === undefined || theirs === undefined) return undefined;
  return sockets.find(
    ({ local, remote, state }) =>
      state !== listening &&
      local.port === there.port &&
      remote.port === here.port &&
      theirs.includes(local.address) &&
      ours.includes(remote.address),
  )?.uid;
}

export interface IpEnd {
  readonly address: string;
  readonly port: number;
}

/** How the file may write an address: IPv4 of a socket for both kinds is in the one of IPv6. */
function inFile(address: string): string[] | undefined {
  if (address === '::1') return ['00000000000000000000000001000000'];
  const four = /^(?:::ffff:)?(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(address);
  if (four === null) return undefined;
  const digits = four
    .slice(1)
    .reverse()
    .map((part) => Number(part).toString(16).padStart(2, '0').toUpperCase())
    .join('');
  return [digits, `0000000000000000FFFF0000${digits}`];
}
