import {
  connect as connectSession,
  constants,
  type ClientHttp2Session,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { BerthError } from '../errors.ts';
import type { ApiServer } from './api-server.ts';

/**
 * Opens the connection and waits until TLS is through, so that a wrong certificate is reported as
 * such and not as a lost connection.
 */
export async function connectHttp2(
  base: URL,
  server: ApiServer,
  deadline: AbortSignal,
): Promise<ClientHttp2Session> {
  const session = connectSession(base, {
    createConnection: () => connectTls(tlsOptions(base, server)),
  });
  try {
    await new Promise<void>((resolve, reject) => {
      session.once('connect', () => resolve());
      session.once('error', reject);
      deadline.addEventListener('abort', () => session.destroy(abortReason(deadline)), {
        once: true,
      });
    });
  } catch (thrown) {
    throw connectionError(base, thrown);
  }
  // Each open request reports the loss; a listener keeps it from being an uncaught event.
  session.on('error', () => undefined);
  return session;
}

function tlsOptions(base: URL, server: ApiServer): ConnectionOptions {
  const host = base.hostname.replace(/^\[|\]$/g, '');
  const name = server.tlsServerName ?? host;
  return {
    host,
    port: Number(base.port === '' ? 443 : base.port),
    ALPNProtocols: ['h2'],
    ...(/^[\d.]+$|:/.test(name) ? {} : { servername: name }),
    ...(server.ca === undefined ? {} : { ca: server.ca }),
    ...(server.clientCertificate ?? {}),
    rejectUnauthorized: server.insecureSkipTlsVerify !== true,
  };
}

/** What came back on one stream, whole. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

interface Exchange {
  readonly headers: OutgoingHttpHeaders;
  readonly body?: string;
  /** Bytes. */
  readonly largestBody: number;
}

/** One request on its own stream. Throws `api-connection-lost` where the stream ends early. */
export function roundTrip(
  session: ClientHttp2Session,
  { headers, body, largestBody }: Exchange,
  deadline: AbortSignal,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const stream = session.request(headers, { endStream: body === undefined, signal: deadline });
    const chunks: Buffer[] = [];
    let size = 0;
    let answered: Pick<Answer, 'status' | 'headers'> | undefined;
    stream.on('response', (received) => {
      answered = { status: received[':status'] ?? 0, headers: received };
    });
    stream.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > largestBody) stream.close(constants.NGHTTP2_CANCEL);
      else chunks.push(chunk);
    });
    stream.on('error', (cause) => reject(connectionLost(cause)));
    stream.on('close', () => {
      if (answered === undefined || stream.rstCode !== constants.NGHTTP2_NO_ERROR || stream.aborted)
        reject(connectionLost(undefined));
      else resolve({ ...answered, text: Buffer.concat(chunks).toString() });
    });
    if (body !== undefined) stream.end(body);
  });
}

function connectionLost(cause: unknown): BerthError {
  return new BerthError('the API server closed the connection before it had answered', {
    code: 'api-connection-lost',
    exit: 'temporary',
    hint: 'See whether the API server restarts; the next login tries again.',
    cause,
  });
}

/** OpenSSL's and Node's codes for a certificate that does not prove the server. */
const certificateCodes =
  /^(CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|ERR_TLS_CERT|HOSTNAME_MISMATCH|INVALID_CA|ERR_SSL_TLSV1_ALERT)/;

function connectionError(base: URL, thrown: unknown): BerthError {
  const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : '';
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  if (certificateCodes.test(code))
    return new BerthError(
      `connecting to ${base.host}: its certificate is not accepted: ${reason}`,
      {
        code: 'api-certificate',
        exit: 'config',
        hint: 'Compare certificate-authority in the admin kubeconfig with the CA that signed the server certificate.',
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

function abortReason(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error('the deadline has passed');
}
