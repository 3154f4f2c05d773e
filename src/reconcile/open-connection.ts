import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { BerthError } from '../errors.ts';
import type { ApiServer } from './api-server.ts';
import type { Connection } from './connection.ts';
import type { http2Connection as Http2Connection } from './http2-transport.ts';
import { type Address, addressOf, tlsOptions } from './tls-options.ts';

/**
 * Opens the connection and waits until TLS is through, so that a wrong certificate is reported as
 * such and not as a lost connection. HTTP/2 is what every API server speaks; a proxy before one may
 * know HTTP/1.1 only (RFC 7301: the server chooses), and gets that.
 *
 * Throws `api-certificate` and `api-unreachable`.
 */
export async function openConnection(
  base: URL,
  server: ApiServer,
  deadline: AbortSignal,
): Promise<Connection> {
  const address = addressOf(base);
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
  // TLS is begun when somebody is there: with a hundred clusters away, it would be the whole cost.
  const tcp = connectTcp(options);
  let socket: Socket = tcp;
  const abort = (): void => void socket.destroy(new Error('the deadline has passed'));
  deadline.addEventListener('abort', abort, { once: true });
  try {
    await happened(tcp, 'connect');
    const tls = connectTls({ ...options, socket: tcp, ALPNProtocols: ['h2', 'http/1.1'] });
    socket = tls;
    // Loaded while the server does its part of the handshake.
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

/** OpenSSL's and Node's codes for a certificate that does not prove the server. */
const certificateCodes =
  /^(CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|ERR_TLS_CERT|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|ERR_SSL_TLSV1_ALERT)/;

const certificateHints: Readonly<Record<string, string | undefined>> = {
  CERT_HAS_EXPIRED: "Renew the API server's certificate (kubeadm certs renew apiserver).",
  CERT_NOT_YET_VALID: "Compare the clocks of this host and of the API server's.",
  ERR_TLS_CERT_ALTNAME_INVALID:
    'Use an address that the certificate names, or say its name as tls-server-name in the admin kubeconfig.',
};

function connectionError(base: URL, thrown: unknown): BerthError {
  const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : '';
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  if (certificateCodes.test(code))
    return new BerthError(
      `connecting to ${base.host}: its certificate is not accepted: ${reason}`,
      {
        code: 'api-certificate',
        exit: 'config',
        hint:
          certificateHints[code] ??
          'Compare certificate-authority in the admin kubeconfig with the CA that signed the server certificate.',
        cause: thrown,
      },
    );
  return new BerthError(`connecting to ${base.host}: ${reason}`, {
    code: 'api-unreachable',
    exit: 'temporary',
    hint: 'See whether the API server runs and this host may reach it (firewall, address in the admin kubeconfig).',
    cause: thrown,
  });
}
