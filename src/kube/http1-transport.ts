import type { Agent as AnyAgent } from 'node:http';
import { Agent, request } from 'node:https';
import type { ConnectionOptions } from 'node:tls';
import {
  collectBody,
  connectionError,
  connectionLostError,
  type WireResponse,
  type Connection,
  type WireRequest,
} from './connection.ts';

/** Parallel connections for the requests of one login. */
const maxSockets = 4;

/**
 * HTTP/1.1, for a proxy in front of the API server that supports nothing else: a few parallel
 * connections, so that a login takes a few more round trips.
 */
export function http1Connection(
  base: URL,
  options: ConnectionOptions,
  deadline: AbortSignal,
): Connection {
  const agent = new Agent({ ...options, keepAlive: true, maxSockets });
  return { ...agentConnection(base, agent, deadline), close: () => agent.destroy() };
}

/** HTTP/1.1 over the connections of an agent that others use too and that keeps none open. */
export function agentConnection(base: URL, agent: AnyAgent, deadline: AbortSignal): Connection {
  return {
    roundTrip: (exchange) => roundTrip(base, agent, exchange, deadline),
    close: () => undefined,
  };
}

function roundTrip(
  base: URL,
  agent: AnyAgent,
  exchange: WireRequest,
  signal: AbortSignal,
): Promise<WireResponse> {
  const { method, path } = exchange;
  const headers = {
    ...exchange.headers,
    ...(exchange.body !== undefined && {
      'content-length': String(Buffer.byteLength(exchange.body)),
    }),
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
      incoming.on('error', (cause) => reject(connectionLostError(cause)));
      incoming.on('end', () =>
        resolve({
          status: incoming.statusCode ?? 0,
          retryAfter: incoming.headers['retry-after'],
          text: body(),
        }),
      );
    });
    let connected = false;
    outgoing.on('socket', (socket) => {
      connected = outgoing.reusedSocket;
      socket.once('secureConnect', () => {
        connected = true;
      });
    });
    outgoing.on('error', (cause) =>
      reject(connected ? connectionLostError(cause) : connectionError(base, cause)),
    );
    outgoing.end(exchange.body);
  });
}
