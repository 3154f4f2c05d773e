import { readFileSync } from 'node:fs';

/** The two ends of a TCP connection of ours. */
export interface TcpPorts {
  readonly local: number;
  readonly remote: number;
}

/**
 * How often in a row the kernel has sent again what the other host does not acknowledge (what was written,
 * or the question whether there is room for more). Each time waits twice as long, from 0.2 s: six are 13 s.
 * A host that is there acknowledges, even where its program does not read. What a silent host takes to be
 * given up by the kernel itself is a quarter of an hour (tcp_retries2).
 */
export function unacknowledged(ports: TcpPorts): number {
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
