import { connect, type Socket } from 'node:net';
import type { Connection, ConnectionSink } from '../session/bridge/connections.ts';
import type { Address } from './own-listeners.ts';

/** The sockets of the login node that lead through the bridge. */
export class BridgedSockets {
  readonly #open = new Set<Socket>();
  readonly #held = new HeldBytes();

  get size(): number {
    return this.#open.size;
  }

  /** Joins a socket, which is not read yet, to a connection. */
  join(socket: Socket, connection: Connection): ConnectionSink {
    this.#open.add(socket);
    socket.on('data', (bytes) => {
      if (!connection.send(bytes)) socket.pause();
    });
    socket.on('end', () => connection.end());
    socket.on('error', () => connection.close());
    socket.on('close', () => {
      this.#open.delete(socket);
      // Where both ends have ended, this says nothing more.
      if (!socket.writableFinished || !socket.readableEnded) connection.close();
    });
    socket.resume();
    return {
      data: (bytes) => {
        const { length } = bytes;
        const held = this.#held.keep(bytes);
        socket.write(held, () => {
          this.#held.release(held);
          connection.taken(length);
        });
      },
      end: () => socket.end(),
      closed: () => socket.destroy(),
      room: () => socket.resume(),
    };
  }

  /** A connection of the pod's to a socket of this host. */
  reach(place: Address, connection: Connection): ConnectionSink {
    return this.join(connect({ ...place, allowHalfOpen: true }), connection);
  }

  /** Waits until what came is written, at most so many milliseconds; then all are closed. */
  async end(patienceMs: number): Promise<void> {
    const all = [...this.#open];
    const written = all.map(
      (socket) => new Promise<void>((resolve) => void socket.end(() => resolve())),
    );
    const patience = new Promise((resolve) => setTimeout(resolve, patienceMs).unref());
    await Promise.race([Promise.allSettled(written), patience]);
    for (const socket of all) socket.destroy();
  }
}

/** What is smaller is not worth a place of its own, in bytes. */
const smallest = 4096;

/** What one read of the exec stream brings, in bytes. */
const placeSize = 64 * 1024;

/** Bytes that are being written, in places that are used again: a long stream leaves nothing to collect. */
class HeldBytes {
  readonly #free: Buffer[] = [];

  keep(bytes: Buffer): Buffer {
    if (bytes.length < smallest || bytes.length > placeSize) return Buffer.from(bytes);
    const place = this.#free.pop() ?? Buffer.from(new ArrayBuffer(placeSize));
    bytes.copy(place);
    return place.subarray(0, bytes.length);
  }

  release(held: Buffer): void {
    if (held.buffer.byteLength === placeSize && held.byteOffset === 0)
      this.#free.push(Buffer.from(held.buffer));
  }
}
