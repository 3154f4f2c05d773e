import { connect } from 'node:net';

/** Asks an sshd on each of several addresses for its banner, again and again, as a balancer's check does. */
export class BannerWatch {
  readonly #addresses: readonly string[];
  readonly #port: number;
  readonly #timer: NodeJS.Timeout;
  #fewest: number;

  constructor(addresses: readonly string[], port: number) {
    this.#addresses = addresses;
    this.#port = port;
    this.#fewest = addresses.length;
    this.#timer = setInterval(() => void this.answering(), 250);
  }

  /** The smallest number of addresses that answered at the same time. */
  get fewest(): number {
    return this.#fewest;
  }

  /** The addresses that answer now. */
  async answering(): Promise<readonly string[]> {
    const results = await Promise.all(this.#addresses.map((host) => hasBanner(host, this.#port)));
    const answering = this.#addresses.filter((_, index) => results[index]);
    this.#fewest = Math.min(this.#fewest, answering.length);
    return answering;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

function hasBanner(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const done = (result: boolean): void => {
      socket.destroy();
      resolve(result);
    };
    // Long, for a busy machine: a node that is drained refuses at once.
    socket.setTimeout(30_000, () => done(false));
    socket.once('error', () => done(false));
    socket.once('close', () => resolve(false));
    socket.once('data', (chunk) => done(chunk.toString().startsWith('SSH-2.0-')));
  });
}
