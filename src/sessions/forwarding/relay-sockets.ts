import { Socket } from 'node:net';
import type { ForwardedConnection, ConnectionSink } from './protocol/multiplexed-connection.ts';
import type { Address } from './sshd-listeners.ts';
import type { UserQuota } from './user-quota.ts';

/** The sockets on the login node whose connections are forwarded. */
export class RelaySockets {
  readonly #open = new Set<Socket>();
  readonly #places = new Places();
  readonly #slots: UserQuota;

  /** @param slots limit for all connections of the user on this host */
  constructor(slots: UserQuota) {
    this.#slots = slots;
  }

  get size(): number {
    return this.#open.size;
  }

  /**
   * Counts a socket against the user's limit until it is closed.
   *
   * @returns false if the limit is reached, or the socket was closed meanwhile
   */
  async acquireSlot(socket: Socket): Promise<boolean> {
    if (!(await this.#slots.take())) return false;
    if (!socket.destroyed) {
      socket.once('close', () => this.#slots.give());
      return true;
    }
    this.#slots.give();
    return false;
  }

  /** Connects a paused socket, which is counted or about to be, with a connection of the multiplexer. */
  join(socket: Socket, connection: ForwardedConnection): ConnectionSink {
    this.#open.add(socket);
    const held = new HeldBytes(this.#places);
    let writing = socket.pending;
    let ended = false;
    const write = (): void => {
      const next = socket.destroyed ? undefined : held.take();
      writing = next !== undefined;
      if (next === undefined) {
        if (ended) socket.end();
        return;
      }
      socket.write(next, () => {
        held.release(next);
        connection.taken(next.length);
        write();
      });
    };
    if (writing) socket.once('connect', write);
    socket.on('data', (bytes) => connection.send(bytes));
    socket.on('end', () => connection.end());
    socket.on('error', () => connection.close());
    socket.on('close', () => {
      this.#open.delete(socket);
      // If both directions have ended, the connection is closed already.
      if (!socket.writableFinished || !socket.readableEnded) connection.close();
      const lost = held.clear();
      if (lost > 0) connection.taken(lost);
    });
    socket.resume();
    return {
      data: (bytes) => {
        if (socket.destroyed) connection.taken(bytes.length);
        else held.keep(bytes);
        if (!writing) write();
      },
      end: () => {
        ended = true;
        if (!writing) socket.end();
      },
      closed: () => socket.destroy(),
      full: () => socket.pause(),
      room: () => socket.resume(),
    };
  }

  /** Connects a connection from the pod to a socket of this host, if the user's limit allows it. */
  reach(place: Address, connection: ForwardedConnection): ConnectionSink {
    const socket = new Socket({ allowHalfOpen: true });
    const sink = this.join(socket, connection);
    void this.acquireSlot(socket).then((has) => {
      if (has) socket.connect({ ...place });
      else socket.destroy();
    });
    return sink;
  }

  /** Waits until received data is written, at most this many milliseconds, and closes all sockets. */
  async end(timeoutMs: number): Promise<void> {
    const all = [...this.#open];
    const written = all.map(
      (socket) => new Promise<void>((resolve) => void socket.end(() => resolve())),
    );
    const late = new Promise((resolve) => setTimeout(resolve, timeoutMs).unref());
    await Promise.race([Promise.allSettled(written), late]);
    for (const socket of all) socket.destroy();
  }
}

/** Sizes of buffers, in bytes: a single waiting byte takes only the smallest. */
const placeSizes = [4 * 1024, 16 * 1024, 64 * 1024] as const;

/** Reusable buffers, so that a long stream creates no garbage. */
class Places {
  readonly #free = new Map<number, Buffer[]>(placeSizes.map((size) => [size, []]));

  /** @returns a buffer for this many bytes, or the largest */
  take(bytes: number): Buffer {
    const size = placeSizes.find((each) => each >= bytes) ?? placeSizes[2];
    return this.#free.get(size)?.pop() ?? Buffer.from(new ArrayBuffer(size));
  }

  /** @param part of a buffer, from its beginning */
  release({ buffer }: Buffer): void {
    this.#free.get(buffer.byteLength)?.push(Buffer.from(buffer));
  }
}

/** Bytes of one connection that wait to be written, in order. Small pieces share a buffer. */
class HeldBytes {
  readonly #places: Places;
  readonly #waiting: { readonly place: Buffer; used: number }[] = [];

  constructor(places: Places) {
    this.#places = places;
  }

  keep(bytes: Buffer): void {
    for (let at = 0; at < bytes.length;) {
      let last = this.#waiting.at(-1);
      if (last === undefined || last.used === last.place.length) {
        last = { place: this.#places.take(bytes.length - at), used: 0 };
        this.#waiting.push(last);
      }
      const count = bytes.copy(last.place, last.used, at);
      last.used += count;
      at += count;
    }
  }

  /** @returns undefined if nothing waits; otherwise bytes to `release` after use */
  take(): Buffer | undefined {
    const first = this.#waiting.shift();
    return first?.place.subarray(0, first.used);
  }

  release(taken: Buffer): void {
    this.#places.release(taken);
  }

  /** Discards everything. @returns the number of bytes that were waiting */
  clear(): number {
    const lost = this.#waiting.splice(0);
    for (const { place } of lost) this.#places.release(place);
    return lost.reduce((sum, { used }) => sum + used, 0);
  }
}
