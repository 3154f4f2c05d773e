import { runProgram } from '../system/run-program.ts';
import type { TcpConnection } from '../system/tcp-connection.ts';
import { socketInodes } from '../system/tcp-listeners.ts';
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
  if (connection === undefined) return undefined;
  const { local, peer } = connection;
  const ends = ['src', endpointText(local), 'and', 'dst', endpointText(peer)];
  // The client may have closed its end.
  const words = ['-Htine', 'state', 'connected', ...ends];
  const { error, stdout } = await runProgram('/usr/bin/ss', words, { timeout: 2_000 });
  if (error !== undefined) return undefined;
  const own = new Set(socketInodes(monitor));
  // A line, and a second one that begins with a tab.
  const found = stdout
    .split(/\n(?!\t)/)
    .find((text) => own.has(/ ino:([0-9]+) /.exec(text)?.[1] ?? ''));
  if (found === undefined) return undefined;
  // A counter that is 0 is not printed.
  const counter = (name: string): number =>
    Number(new RegExp(`\\b${name}:([0-9]{1,15})\\b`).exec(found)?.[1] ?? 0);
  return { received_bytes: counter('bytes_received'), sent_bytes: counter('bytes_acked') };
}
