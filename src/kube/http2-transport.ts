import { connect, constants, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import {
  collectBody,
  connectionLostError,
  type WireResponse,
  type Connection,
  type WireRequest,
} from './connection.ts';

/** HTTP/2 over a connected socket: all requests at once, each on its own stream. */
export function http2Connection(base: URL, socket: TLSSocket, deadline: AbortSignal): Connection {
  const session = connect(base, { createConnection: () => socket });
  // Each open request reports the loss; without a listener the event would end the process.
  session.on('error', () => undefined);
  return {
    roundTrip: (exchange) => roundTrip(session, exchange, deadline),
    close: () => session.destroy(),
  };
}

function roundTrip(
  session: ClientHttp2Session,
  exchange: WireRequest,
  deadline: AbortSignal,
): Promise<WireResponse> {
  const { method, path, headers, body } = exchange;
  return new Promise((resolve, reject) => {
    let stream: ClientHttp2Stream;
    try {
      stream = session.request(
        { ...headers, ':method': method, ':path': path },
        { endStream: body === undefined, signal: deadline },
      );
    } catch (cause) {
      // After a GOAWAY, no new stream can be opened.
      reject(connectionLostError(cause));
      return;
    }
    let answered: Omit<WireResponse, 'text'> | undefined;
    stream.on('response', (head) => {
      answered = { status: head[':status'] ?? 0, retryAfter: head['retry-after'] };
    });
    const received = collectBody(
      stream,
      exchange,
      () => answered?.status,
      (error) => {
        reject(error);
        stream.close(constants.NGHTTP2_CANCEL);
      },
    );
    stream.on('error', (cause) => reject(connectionLostError(cause)));
    stream.on('close', () => {
      // If the connection is lost, Node ends a stream as the server would: a partial body looks complete.
      const cut = session.destroyed || stream.aborted;
      if (answered === undefined || stream.rstCode !== constants.NGHTTP2_NO_ERROR || cut)
        reject(connectionLostError(undefined));
      else resolve({ ...answered, text: received() });
    });
    if (body !== undefined) stream.end(body);
  });
}
