import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { type Address, addressOfUrl, type ApiServer, tlsOptions } from './api-server.ts';
import { connectionError, type Connection } from './connection.ts';
import type { http2Connection as Http2Connection } from './http2-transport.ts';

/**
 * Opens the connection and waits for the TLS handshake, so that a wrong certificate is reported as
 * such and not as a lost connection. Every API server supports HTTP/2; a proxy in front of one may choose
 * HTTP/1.1 (ALPN, RFC 7301).
 *
 * Throws `api-certificate` and `api-unreachable`.
 */
export async function openConnection(
  base: URL,
  server: ApiServer,
  deadline: AbortSignal,
): Promise<Connection> {
  if (server.agent !== undefined) {
    const { agentConnection } = await import('./http1-transport.ts');
    return agentConnection(base, server.agent, deadline);
  }
  const address = addressOfUrl(base);
  const options = { ...tlsOptions(address.host, server), ...address };
  const { socket, http2Connection } = await openSocket(base, options, deadline);
  if (socket.alpnProtocol === 'h2') return http2Connection(base, socket, deadline);
  socket.destroy();
  const { http1Connection } = await import('./http1-transport.ts');
  return http1Connection(base, options, deadline);
}

async function openSocket(
  base: URL,
  options: ConnectionOptions & Address,
  deadline: AbortSignal,
): Promise<{ socket: TLSSocket; http2Connection: typeof Http2Connection }> {
  // TLS starts after TCP is connected: with a hundred unreachable clusters it would dominate the cost.
  const tcp = connectTcp(options);
  let socket: Socket = tcp;
  const abort = (): void => void socket.destroy(new Error('the deadline has passed'));
  deadline.addEventListener('abort', abort, { once: true });
  try {
    await happened(tcp, 'connect');
    const tls = connectTls({ ...options, socket: tcp, ALPNProtocols: ['h2', 'http/1.1'] });
    socket = tls;
    // Loaded during the handshake.
    const [{ http2Connection }] = await Promise.all([
      import('./http2-transport.ts'),
      happened(tls, 'secureConnect'),
    ]);
    return { socket: tls, http2Connection };
  } catch (thrown) {
    throw connectionError(base, thrown);
  } finally {
    deadline.removeEventListener('abort', abort);
  }
}

function happened(socket: Socket, event: string): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once(event, resolve);
    socket.once('error', reject);
  });
}
