import { type TcpConnection, tcpConnections } from '../../system/tcp-connection.ts';
import { socketInodes } from '../../system/tcp-listeners.ts';
import { endpointText } from '../../system/tcp-table.ts';

/** What has gone over a connection, with all that SSH adds. */
export interface ConnectionBytes {
  readonly received_bytes: number;
  readonly sent_bytes: number;
}

/**
 * Asks the kernel what sshd has received and sent. Users cannot change it.
 *
 * @param monitor PID of the sshd that holds the connection
 * @param connection as sshd told it; the user may be able to change what it says
 * @returns undefined if the connection is not this sshd's, or ss(8) is missing
 */
export function connectionBytes(
  monitor: number,
  connection: TcpConnection | undefined,
): ConnectionBytes | undefined {
  if (connection === undefined) return undefined;
  const { local, peer } = connection;
  const ends = ['src', endpointText(local), 'dst', endpointText(peer)];
  const own = new Set(socketInodes(monitor));
  // The client may have closed its end.
  const found = tcpConnections(ends, 'connected')?.find(({ inode }) => own.has(inode));
  return found && { received_bytes: found.receivedBytes, sent_bytes: found.sentBytes };
}
