import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A connection through the proxy, times in milliseconds of `performance.now()`. */
export interface Passage {
  readonly firstFromClient: number;
  /** When the server's last byte was handed to the client. */
  readonly lastToClient: number;
}

/**
 * A TCP proxy that delays the data of each direction by `delayMs`. It does not change the data, so TLS
 * passes through, and it does not limit the throughput.
 */
export class LatencyProxy {
  /** The connections on which the client sent data, in the order of their first byte. */
  readonly passages: Passage[] = [];
  readonly #server: Server;
  readonly #open = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
  }

  static async open(target: URL, delayMs: number): Promise<LatencyProxy> {
    const server = createServer({ noDelay: true });
    const proxy = new LatencyProxy(server);
    server.on('connection', (client) => proxy.#join(client, target, delayMs));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  /** The https URL of the proxy. */
  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    for (const socket of this.#open) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #join(client: Socket, { hostname, port }: URL, delayMs: number): void {
    const server = connect({ host: hostname, port: Number(port), noDelay: true });
    const passage = { firstFromClient: 0, lastToClient: 0 };
    const relay = (from: Socket, to: Socket, seen: () => void): void => {
      from.on('data', (chunk) => {
        if (from === client) seen();
        setTimeout(() => {
          if (!to.writable) return;
          if (to === client) seen();
          to.write(chunk);
        }, delayMs);
      });
      from.on('end', () => setTimeout(() => to.end(), delayMs));
      from.on('error', () => to.destroy());
      from.on('close', () => this.#open.delete(from));
      this.#open.add(from);
    };
    relay(client, server, () => {
      if (passage.firstFromClient !== 0) return;
      passage.firstFromClient = performance.now();
      this.passages.push(passage);
    });
    relay(server, client, () => {
      passage.lastToClient = performance.now();
    });
  }
}
