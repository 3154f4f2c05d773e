/** A socket as /proc/net/tcp and tcp6 list it (proc(5)). */
export interface TcpSocket {
  readonly local: TcpEndpoint;
  readonly remote: TcpEndpoint;
  /** 10: listening. 1: connected. */
  readonly state: number;
  readonly uid: number;
  readonly inode: string;
}

export interface TcpEndpoint {
  /** As in the file: hexadecimal, 8 digits for IPv4 or 32 for IPv6. */
  readonly address: string;
  readonly port: number;
}

const listening = 10;

/** Parses the file. The heading and incomplete lines are ignored. */
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

/** Each group of four bytes is a number in the byte order of the host, little-endian. */
const reachable = [
  '0100007F',
  '00000000',
  '0'.repeat(32),
  '00000000000000000000000001000000',
  '0000000000000000FFFF00000100007F',
];

/** Whether it accepts connections on loopback. */
export function listensOnLoopback({ state, local }: TcpSocket): boolean {
  return state === listening && reachable.includes(local.address);
}

/**
 * The UID of the other end of a connection within this host.
 *
 * @param here our end
 * @param there the other end, as our end sees it: IPv4 in dotted form, or `::1`
 * @returns undefined if there is no such socket: it has been closed
 */
export function peerUid(
  sockets: readonly TcpSocket[],
  here: IpEndpoint,
  there: IpEndpoint,
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

export interface IpEndpoint {
  readonly address: string;
  readonly port: number;
}

/** How the file may write an address. IPv4 of a dual-stack socket appears as IPv6. */
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
