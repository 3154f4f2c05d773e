import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer as createHttp, type Server as HttpServer } from 'node:http';
import { createServer as createHttp2, type Http2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type Server, type TLSSocket } from 'node:tls';
import type { KeyPair } from '../../../rig/site/certificates.ts';
import type { Site } from '../../../rig/site/site.ts';

const busy = JSON.stringify({
  ...{ kind: 'Status', code: 429, reason: 'TooManyRequests' },
  message: 'the server has received too many requests, please try again later',
});

/**
 * A proxy before the API server that ends TLS with a certificate of its own and can be slow, silent or
 * busy: what the real one cannot be brought to do. Otherwise every byte goes through, HTTP/2 and
 * WebSockets alike.
 */
export class TlsProxy {
  /** Of each direction, in milliseconds; of what arrives from now on. Infinity: nothing passes. */
  delayMs = 0;
  /** New connections get 429 for whatever they ask, as API priority and fairness says it. */
  busy = false;
  /** How many connections there were so far. */
  joined = 0;
  readonly #server: Server;
  readonly #http: HttpServer;
  readonly #http2: Http2Server;
  readonly #open = new Set<TLSSocket>();

  private constructor(server: Server) {
    this.#server = server;
    this.#http = createHttp((_request, response) => {
      response.writeHead(429, { 'content-type': 'application/json', 'retry-after': '1' }).end(busy);
    });
    this.#http.on('upgrade', (_request, socket) => {
      const head = `content-type: application/json\r\ncontent-length: ${busy.length}`;
      socket.end(`HTTP/1.1 429 Too Many Requests\r\n${head}\r\nconnection: close\r\n\r\n${busy}`);
    });
    this.#http2 = createHttp2();
    this.#http2.on('stream', (stream) => {
      stream.on('error', () => undefined);
      const headers = { 'content-type': 'application/json', 'retry-after': '1' };
      stream.respond({ ':status': 429, ...headers });
      stream.end(busy);
    });
  }

  static async open(site: Site, pair: KeyPair): Promise<TlsProxy> {
    const server = createServer({ ...(await read(pair)), ALPNProtocols: ['h2', 'http/1.1'] });
    const proxy = new TlsProxy(server);
    server.on('secureConnection', (socket) => proxy.#join(socket, site));
    server.on('tlsClientError', () => undefined);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return proxy;
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The certificate of new connections. */
  async rotate(pair: KeyPair): Promise<void> {
    this.#server.setSecureContext(await read(pair));
  }

  async close(): Promise<void> {
    for (const socket of this.#open) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #join(client: TLSSocket, site: Site): void {
    const protocol = client.alpnProtocol === 'h2' ? 'h2' : 'http/1.1';
    client.on('error', () => undefined);
    this.joined += 1;
    this.#keep(client);
    if (this.busy) {
      (protocol === 'h2' ? this.#http2 : this.#http).emit('connection', client);
      return;
    }
    const { hostname, port } = new URL(site.server);
    const server = connect({
      ...{ host: hostname, port: Number(port), ca: site.ca.pem, ALPNProtocols: [protocol] },
    });
    server.on('error', () => client.destroy());
    this.#keep(server);
    this.#relay(client, server);
    this.#relay(server, client);
  }

  #keep(socket: TLSSocket): void {
    this.#open.add(socket);
    socket.on('close', () => this.#open.delete(socket));
  }

  #relay(from: TLSSocket, to: TLSSocket): void {
    const later = (what: () => void): void => {
      if (this.delayMs === 0) what();
      else if (Number.isFinite(this.delayMs)) setTimeout(what, this.delayMs);
    };
    from.on('data', (bytes: Buffer) =>
      later(() => {
        if (to.writable) to.write(bytes);
      }),
    );
    from.on('end', () => later(() => to.end()));
    // After an orderly end, what is written yet goes on its way.
    from.on('close', () => {
      if (!from.readableEnded) later(() => to.destroy());
    });
  }
}

async function read({ cert, key }: KeyPair): Promise<{ cert: Buffer; key: Buffer }> {
  return { cert: await readFile(cert), key: await readFile(key) };
}
