import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import {
  connect,
  createSecureServer,
  type Http2SecureServer,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import type { Site } from '../../../rig/site/site.ts';
import type { KeyPair } from '../../../rig/site/certificates.ts';

/** A request that arrived. `number` counts from 1, over all connections. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly number: number;
  readonly stream: ServerHttp2Stream;
  /** Forwards the request to the real API server and returns its answer. */
  readonly pass: () => Promise<void>;
}

export type Behaviour = (seen: Seen) => void | Promise<void>;

export interface StandInOptions {
  readonly certificate?: KeyPair;
  readonly host?: string;
}

/**
 * A proxy in front of the API server, for what the real one cannot be made to do: answer 500, never
 * answer, truncate an answer. All other requests are forwarded.
 */
export class StandIn {
  readonly url: string;
  /** `METHOD /path` of each request, in the order of arrival. */
  readonly requests: string[] = [];
  readonly #server: Http2SecureServer;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Http2SecureServer, host: string) {
    this.#server = server;
    this.url = `https://${host}:${(server.address() as AddressInfo).port}`;
    server.on('connection', (socket: Socket) => this.#sockets.add(socket));
  }

  static async open(
    site: Site,
    behave: Behaviour,
    { certificate, host = '127.0.0.1' }: StandInOptions = {},
  ): Promise<StandIn> {
    const pair = certificate ?? (await site.certificates.server('stand-in'));
    const server = createSecureServer({
      cert: await readFile(pair.cert),
      key: await readFile(pair.key),
    });
    server.listen(0, host);
    await once(server, 'listening');
    const standIn = new StandIn(server, host);
    server.on('sessionError', () => undefined);
    server.on('stream', (stream, headers) => {
      const method = String(headers[':method']);
      const path = String(headers[':path']);
      const number = standIn.requests.push(`${method} ${path}`);
      stream.on('error', () => undefined);
      const pass = (): Promise<void> => forward(site, stream, headers);
      void Promise.resolve(behave({ method, path, number, stream, pass })).catch(() =>
        stream.destroy(),
      );
    });
    return standIn;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** An error of the API server: a `Status`. */
export function refuse(
  status: number,
  { headers = {}, message = `the stand-in says ${status}` } = {},
): Behaviour {
  return ({ stream }) => {
    stream.respond({ ':status': status, 'content-type': 'application/json', ...headers });
    const reason = status === 409 ? 'Conflict' : '';
    stream.end(JSON.stringify({ kind: 'Status', code: status, reason, message }));
  };
}

/** The connection of a stream. */
export function sessionOf(stream: ServerHttp2Stream): Http2Session {
  if (stream.session === undefined) throw new Error('the stream has no connection any more');
  return stream.session;
}

async function forward(
  site: Site,
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  const session = connect(site.server, { ca: site.ca.pem });
  try {
    const onward = session.request(
      { ...headers, ':authority': new URL(site.server).host },
      { endStream: false },
    );
    onward.end(Buffer.concat(chunks));
    const [answer] = (await once(onward, 'response')) as [IncomingHttpHeaders];
    const body: Buffer[] = [];
    for await (const chunk of onward) body.push(chunk as Buffer);
    if (stream.destroyed) return;
    stream.respond({
      ':status': answer[':status'],
      'content-type': answer['content-type'],
    });
    stream.end(Buffer.concat(body));
  } finally {
    session.close();
  }
}
