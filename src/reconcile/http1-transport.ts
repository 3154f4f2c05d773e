import { Agent, request } from 'node:https';
import type { ConnectionOptions } from 'node:tls';
import {
  collectBody,
  connectionLost,
  type Answer,
  type Connection,
  type Exchange,
} from './connection.ts';

/** The requests of one login go over so many connections at once. */
const maxSockets = 4;

/**
 * HTTP/1.1, for a proxy before the API server that knows nothing else: a few connections side by
 * side, so a login takes some round trips more.
 */
export function http1Connection(
  base: URL,
  options: ConnectionOptions,
  deadline: AbortSignal,
): Connection {
  const agent = new Agent({ ...options, keepAlive: true, maxSockets });
  return {
    roundTrip: (exchange) => roundTrip(base, agent, exchange, deadline),
    close: () => agent.destroy(),
  };
}

function roundTrip(
  base: URL,
  agent: Agent,
  exchange: Exchange,
  signal: AbortSignal,
): Promise<Answer> {
  const { method, path } = exchange;
  const headers = {
    ...exchange.headers,
    ...(exchange.body === undefined
      ? {}
      : { 'content-length': String(Buffer.byteLength(exchange.body)) }),
  };
  return new Promise((resolve, reject) => {
    const outgoing = request(base, { agent, method, path, headers, signal }, (incoming) => {
      const body = collectBody(
        incoming,
        exchange,
        () => incoming.statusCode,
        (error) => {
          reject(error);
          incoming.destroy();
        },
      );
      // A body that ends early is an error here: `aborted`.
      incoming.on('error', (cause) => reject(connectionLost(cause)));
      incoming.on('end', () =>
        resolve({
          status: incoming.statusCode ?? 0,
          retryAfter: incoming.headers['retry-after'],
          text: body(),
        }),
      );
    });
    outgoing.on('error', (cause) => reject(connectionLost(cause)));
    outgoing.end(exchange.body);
  });
}
