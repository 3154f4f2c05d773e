import { BerthError } from './errors/berth-error.ts';
import { escapeControl } from '../log.ts';
import { trustedCas } from './trusted-cas.ts';

export interface HttpsRequest {
  readonly method: 'GET' | 'POST';
  /** https only: what comes back is trusted with everybody's login. */
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** `application/x-www-form-urlencoded`. */
  readonly form?: Readonly<Record<string, string>>;
  /** PEM bundle for the server's certificate; Node's own where absent. */
  readonly ca?: string;
  /** PEM of the certificate that the client presents (mutual TLS), and of its private key. */
  readonly clientCertificate?: { readonly cert: string; readonly key: string };
  /** For the whole exchange, from the look-up of the name to the last byte, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** Called when the TLS connection has been made. */
  readonly onConnected?: () => void;
}

export interface HttpsResponse {
  readonly status: number;
  /** The parsed JSON, or undefined where the body is not `application/json`. */
  readonly json: unknown;
}

export type HttpsClient = (request: HttpsRequest) => Promise<HttpsResponse>;

/** No discovery document, key set or token response comes near this. */
const maximumBytes = 512 * 1024;

/**
 * One request to the identity provider. No redirects, no proxy, no connection kept: what the
 * discovery document says is where the answer comes from.
 *
 * @throws {BerthError} `issuer-url-not-https`, `issuer-certificate`, `issuer-unreachable`,
 *   `issuer-timeout`, `issuer-answer-invalid`. The message names the host and path, never the query or form.
 */
export const httpsRequest: HttpsClient = async (request) => {
  const url = new URL(request.url);
  const where = escapeControl(`${url.host}${url.pathname}`);
  if (url.protocol !== 'https:') {
    throw notHttps(url);
  }
  const timeout = AbortSignal.timeout(request.timeoutMs);
  const signal = request.signal ? AbortSignal.any([request.signal, timeout]) : timeout;
  try {
    const { status, type, body } = await exchange(request, url, signal);
    return { status, json: jsonOf(url, type, body) };
  } catch (cause) {
    if (cause instanceof BerthError) throw cause;
    throw unreachable(where, cause, timeout.aborted ? request.timeoutMs : undefined);
  }
};

interface RawAnswer {
  readonly status: number;
  readonly type: string;
  readonly body: Buffer;
}

async function exchange(request: HttpsRequest, url: URL, signal: AbortSignal): Promise<RawAnswer> {
  // Loaded here: most runs talk to no identity provider.
  const { request: open } = await import('node:https');
  const body = request.form && new URLSearchParams(request.form).toString();
  return await new Promise<RawAnswer>((resolve, reject) => {
    const outgoing = open(
      url,
      {
        method: request.method,
        agent: false,
        signal,
        ca: trustedCas(request.ca),
        ...request.clientCertificate,
        headers: {
          accept: 'application/json',
          ...request.headers,
          ...(body !== undefined && {
            'content-type': 'application/x-www-form-urlencoded',
            'content-length': String(Buffer.byteLength(body)),
          }),
        },
      },
      (response) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          chunks.push(chunk);
          if (bytes > maximumBytes) {
            response.destroy(invalidResponse(url, `more than ${maximumBytes} bytes`));
          }
        });
        response.on('error', reject);
        response.on('aborted', () => reject(invalidResponse(url, 'half a body')));
        response.on('end', () => {
          const type = response.headers['content-type'] ?? '';
          resolve({ status: response.statusCode ?? 0, type, body: Buffer.concat(chunks) });
        });
      },
    );
    const { onConnected } = request;
    if (onConnected !== undefined)
      outgoing.once('socket', (socket) => socket.once('secureConnect', onConnected));
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

function jsonOf(url: URL, contentType: string, body: Buffer): unknown {
  // RFC 7517 8.5.2: a key set may come as application/jwk-set+json.
  if (!/^application\/([\w.-]+\+)?json\s*(;|$)/i.test(contentType)) return undefined;
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    throw invalidResponse(url, 'a body that is not JSON');
  }
}

/** The address of an identity provider is refused: it does not begin with `https:`. */
export function notHttps(url: URL): BerthError {
  return new BerthError(
    'issuer-url-not-https',
    `${escapeControl(`${url.host}${url.pathname}`)} is not an https address`,
  );
}

/** The answer came, but is not one that this protocol has. */
export function invalidResponse(url: URL, what: string): BerthError {
  return new BerthError(
    'issuer-answer-invalid',
    `${escapeControl(`${url.host}${url.pathname}`)} answered with ${what}`,
  );
}

function unreachable(where: string, cause: unknown, timeoutMs: number | undefined): BerthError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  const reason = cause instanceof Error ? escapeControl(cause.message) : 'unknown error';
  if (timeoutMs !== undefined) {
    return new BerthError('issuer-timeout', `${where} did not answer within ${timeoutMs} ms`, {
      cause,
    });
  }
  if (/CERT|SSL|TLS|ALTNAME|SIGNATURE|ISSUER/.test(code)) {
    return new BerthError(
      'issuer-certificate',
      `the certificate of ${where} is not trusted: ${reason}`,
      {
        cause,
      },
    );
  }
  return new BerthError('issuer-unreachable', `${where} cannot be reached: ${reason}`, {
    cause,
  });
}
