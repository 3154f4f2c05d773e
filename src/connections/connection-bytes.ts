import { runProgram } from '../system/run-program.ts';
import { holdsConnection, type TcpConnection } from '../system/tcp-connection.ts';
import { endpointText } from '../system/tcp-table.ts';

/** What has gone over a connection, with all that SSH adds. */
export interface ConnectionBytes {
  readonly received_bytes: number;
  readonly sent_bytes: number;
}

/**
 * Asks the kernel (tcp_info of linux/tcp.h, by ss(8)) what sshd has received and sent. Users cannot change it.
 *
 * @param monitor PID of the sshd that holds the connection
 * @param connection as sshd told it; the user may be able to change what it says
 * @returns undefined if the connection is not this sshd's, or ss is missing
 */
export async function connectionBytes(
  monitor: number,
  connection: TcpConnection | undefined,
): Promise<ConnectionBytes | undefined> {
  if (connection === undefined || !holdsConnection(monitor, connection)) return undefined;
  const { local, peer } = connection;
  const filter = ['src', endpointText(local), 'and', 'dst', endpointText(peer)];
  const words = ['-Htin', 'state', 'connected', ...filter];
  const { error, stdout } = await runProgram('/usr/bin/ss', words, { timeout: 2_000 });
  if (error !== undefined) return undefined;
  // A counter that is 0 is not printed.
  const counter = (name: string): number =>
    Number(new RegExp(`\\b${name}:([0-9]{1,15})\\b`).exec(stdout)?.[1] ?? 0);
  if (!/\bbytes_/.test(stdout)) return undefined;
  return { received_bytes: counter('bytes_received'), sent_bytes: counter('bytes_acked') };
}
