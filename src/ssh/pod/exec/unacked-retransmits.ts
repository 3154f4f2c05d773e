import { readFileSync } from 'node:fs';

/** The ports of a TCP connection of this process. */
export interface TcpPorts {
  readonly local: number;
  readonly remote: number;
}

/**
 * How many times in a row the kernel has retransmitted data, or sent a zero-window probe, without an acknowledgement.
 * The interval doubles each time from 0.2 s, so six retransmissions take 13 s. A living host acknowledges even if its
 * program does not read. The kernel itself gives up on a silent host after a quarter of an hour (tcp_retries2).
 */
export function unackedRetransmits(ports: TcpPorts): number {
  for (const file of ['tcp', 'tcp6']) {
    for (const line of linesOf(file)) {
      // proc(5): sl, local_address, rem_address, st, queues, timer, retrnsmt, uid, timeout
      const [, local, remote, , , , again = '0', , probes = '0'] = line.trim().split(/\s+/);
      if (portOf(local) === ports.local && portOf(remote) === ports.remote)
        return Math.max(Number.parseInt(again, 16), Number(probes));
    }
  }
  return 0;
}

function linesOf(file: string): string[] {
  try {
    return readFileSync(`/proc/self/net/${file}`, 'latin1').split('\n').slice(1);
  } catch {
    return [];
  }
}

function portOf(address: string | undefined): number {
  return Number.parseInt(address?.split(':')[1] ?? '', 16);
}
