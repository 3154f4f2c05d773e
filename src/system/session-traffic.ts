import { readFileSync } from 'node:fs';
import type { ProcessId } from './processes.ts';
import { tcpConnections, type TcpConnection, tcpConnectionsOf } from './tcp-connection.ts';
import { endpointText } from './tcp-table.ts';

/**
 * How many bytes connections have carried for their sessions and forwards, in both directions, since they were opened.
 *
 * sshd reads and writes each of these bytes twice: at the client's TCP connection, encrypted, and at a terminal, a pipe or
 * another socket. The kernel counts all that its processes read and write (proc(5), /proc/PID/io), and what the TCP
 * connection has carried (`ss -ti`). The difference is what belongs to sessions, so keepalives and new keys do not change
 * it. Nothing is copied for it, and users cannot change it but by input and output.
 *
 * The kernel is asked once for all connections, and again for those that carried something meanwhile.
 *
 * @returns by the PID of `monitor`, numbers to compare with earlier ones; without connections of which the kernel does not say it
 */
export function sessionTraffic(
  sessions: readonly ConnectionProcesses[],
): ReadonlyMap<number, number> {
  const pids = sessions.map(({ monitor }) => monitor.pid);
  const { connections } = tcpConnectionsOf(pids, { mostBytes: mostOfTcpLists });
  const traffic = new Map<number, number>();
  let open = sessions.filter(({ monitor }) => connections.has(monitor.pid));
  for (let look = 0; look < mostLooks && open.length > 0; look += 1) {
    const before = open.map(({ sshd }) => bytesOf(sshd));
    const filter = open.flatMap(({ monitor }, index) => [
      ...(index === 0 ? [] : ['or']),
      ...filterOf(connections.get(monitor.pid)),
    ]);
    const encrypted = new Map(
      tcpConnections(filter)?.map((found) => [
        filterOf(found).join(' '),
        found.receivedBytes + found.sentBytes,
      ]),
    );
    open = open.filter(({ monitor, sshd }, index) => {
      const bytes = encrypted.get(filterOf(connections.get(monitor.pid)).join(' '));
      const [first, now] = [before[index], bytesOf(sshd)];
      if (bytes !== undefined && first !== undefined) traffic.set(monitor.pid, first - bytes);
      return now !== undefined && now !== first;
    });
  }
  return traffic;
}

/** A connection, as the processes of sshd that serve it. */
export interface ConnectionProcesses {
  /** sshd's process of root, which holds its socket and no other client's. */
  readonly monitor: ProcessId;
  /** PIDs of all of sshd's processes for it. */
  readonly sshd: readonly number[];
}

/** Selects a connection, as in ss(8). */
function filterOf(ends: TcpConnection | undefined): string[] {
  if (ends === undefined) return [];
  return ['(', 'src', endpointText(ends.local), 'dst', endpointText(ends.peer), ')'];
}

/** Bytes of the kernel's lists of TCP connections, of about 100,000. */
const mostOfTcpLists = 16 * 1024 * 1024;

/** A keepalive between the two counts would look like input. */
const mostLooks = 3;

function bytesOf(pids: readonly number[]): number | undefined {
  try {
    return pids
      .flatMap((pid) => [
        ...readFileSync(`/proc/${pid}/io`, 'latin1').matchAll(/^[rw]char: (\d+)$/gm),
      ])
      .reduce((sum, [, bytes]) => sum + Number(bytes), 0);
  } catch {
    // One of them has ended, or the kernel does not count.
    return undefined;
  }
}
