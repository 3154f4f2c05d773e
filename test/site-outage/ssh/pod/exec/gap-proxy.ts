import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A network between the relay and the API server that can go silent without a word, or be cut. */
export class GapProxy {
  readonly #server: Server;
  readonly #open = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
  }

  static async open({ hostname, port }: URL): Promise<GapProxy> {
    const server = createServer((client) => {
      const behind = connect(Number(port), hostname);
      for (const [from, to] of [
        [client, behind],
        [behind, client],
      ] as const) {
        proxy.#open.add(from);
        from.on('error', () => undefined);
        from.on('close', () => to.destroy());
        from.pipe(to);
      }
    });
    const proxy = new GapProxy(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Nothing arrives any more, in either direction; the connections stand. */
  silence(): void {
    for (const socket of this.#open) socket.unpipe().pause();
  }

  async close(): Promise<void> {
    for (const socket of this.#open) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
}
