import type { Agent } from 'node:http';

/** What a server shows without authentication. */
export interface ServerFacts {
  /** Its clock, from the Date header (whole seconds), in milliseconds since the epoch. */
  readonly date?: number;
  /** This host's clock halfway between request and response, in milliseconds since the epoch. */
  readonly ourDate: number;
  /** When its certificate expires, in milliseconds since the epoch. */
  readonly certificateEnds?: number;
}

/**
 * Sends a request without credentials to an https server, only to see its clock and certificate. The certificate is not
 * verified, so nothing in the response may be trusted. Rejects with the errors of node:https.
 */
export async function probeServer(
  address: string,
  options: {
    readonly signal: AbortSignal;
    readonly tlsServerName?: string;
    readonly agent?: Agent;
  },
): Promise<ServerFacts> {
  const { request } = await import('node:https');
  const { TLSSocket } = await import('node:tls');
  const started = Date.now();
  return new Promise((resolve, reject) => {
    const outgoing = request(
      address,
      {
        method: 'GET',
        agent: options.agent ?? false,
        rejectUnauthorized: false,
        signal: options.signal,
        servername: options.tlsServerName,
      },
      (response) => {
        const date = Date.parse(response.headers.date ?? '');
        const { socket } = response;
        const ends = Date.parse(
          socket instanceof TLSSocket ? socket.getPeerCertificate().valid_to : '',
        );
        response.on('error', reject);
        response.destroy();
        resolve({
          ourDate: (started + Date.now()) / 2,
          ...(Number.isFinite(date) && { date }),
          ...(Number.isFinite(ends) && { certificateEnds: ends }),
        });
      },
    );
    outgoing.on('error', reject);
    outgoing.end();
  });
}
