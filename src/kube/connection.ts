import type { Readable } from 'node:stream';
import { BerthError, codeOf, messageOf } from '../system/errors/berth-error.ts';

/** A request as it is sent. */
export interface WireRequest {
  readonly method: string;
  /** Path with query, complete. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Bytes; a longer answer is `api-answer-too-large`. */
  readonly largestBody: number;
  /** Receives the body of a 200 as it arrives; it is then not collected, and its size is not limited. */
  readonly onData?: (chunk: Buffer) => void;
}

/** A complete response. */
export interface WireResponse {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly text: string;
}

export interface Connection {
  /** Throws `api-connection-lost` if the response is incomplete, `api-answer-too-large`. */
  roundTrip(exchange: WireRequest): Promise<WireResponse>;
  close(): void;
}

/** The connection ended before the response was complete. */
export function connectionLostError(cause: unknown): BerthError {
  return new BerthError(
    'api-connection-lost',
    'the API server closed the connection before it had answered',
    {
      cause,
    },
  );
}

/**
 * Collects the body of a response.
 *
 * @param status of the answer; it is known when the body begins
 * @param giveUp Called if it is longer than the exchange allows: `api-answer-too-large`.
 * @returns A function that returns the text received so far.
 */
export function collectBody(
  stream: Readable,
  exchange: WireRequest,
  status: () => number | undefined,
  giveUp: (error: BerthError) => void,
): () => string {
  const chunks: Buffer[] = [];
  let size = 0;
  stream.on('data', (chunk: Buffer) => {
    if (exchange.onData !== undefined && status() === 200) {
      exchange.onData(chunk);
      return;
    }
    size += chunk.length;
    if (size <= exchange.largestBody) chunks.push(chunk);
    else giveUp(answerTooLarge(exchange));
  });
  return () => Buffer.concat(chunks).toString();
}

function answerTooLarge({ method, path, largestBody }: WireRequest): BerthError {
  return new BerthError(
    'api-answer-too-large',
    `${method} ${path}: the answer is longer than ${largestBody} bytes`,
  );
}

/** OpenSSL's and Node's codes for a certificate that is not accepted. */
const certificateCodes =
  /^(CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|ERR_TLS_CERT|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|ERR_SSL_TLSV1_ALERT)/;

const certificateHints: Readonly<Record<string, string | undefined>> = {
  CERT_HAS_EXPIRED: "Renew the API server's certificate (kubeadm certs renew apiserver).",
  CERT_NOT_YET_VALID: 'Compare the clocks of this host and of the API server.',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'Use an address that the certificate names, or set tls-server-name in the admin kubeconfig.',
};

/** The error of a failed connection attempt: `api-certificate` or `api-unreachable`. */
export function connectionError(base: URL, thrown: unknown): BerthError {
  const code = codeOf(thrown);
  const reason = messageOf(thrown);
  if (certificateCodes.test(code))
    return new BerthError(
      'api-certificate',
      `connecting to ${base.host}: its certificate is not accepted: ${reason}`,
      {
        hint: certificateHints[code],
        cause: thrown,
      },
    );
  return new BerthError('api-unreachable', `connecting to ${base.host}: ${reason}`, {
    cause: thrown,
  });
}
