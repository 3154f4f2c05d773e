import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CertificateAuthority } from '../../../../rig/site/certificates.ts';

/**
 * A stand-in for an API server whose exec stream says what a test wants: what no real one, and no program
 * that Berth starts in a pod, can be brought to say.
 */
export class HostilePod {
  readonly ca: string;
  readonly directory: string;
  readonly #server: Server;
  #streams: HostileStream[] = [];
  readonly #wanted: ((stream: HostileStream) => void)[] = [];

  private constructor(server: Server, ca: string, directory: string) {
    this.#server = server;
    this.ca = ca;
    this.directory = directory;
    server.on('upgrade', (request, socket: Duplex) => {
      const key = request.headers['sec-websocket-key'] ?? '';
      const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`);
      socket.write(
        [
          'HTTP/1.1 101 Switching Protocols',
          'Upgrade: websocket',
          'Connection: Upgrade',
          `Sec-WebSocket-Accept: ${accept.digest('base64')}`,
          'Sec-WebSocket-Protocol: v5.channel.k8s.io',
          '\r\n',
        ].join('\r\n'),
      );
      const stream = new HostileStream(socket);
      const wanted = this.#wanted.shift();
      if (wanted === undefined) this.#streams.push(stream);
      else wanted(stream);
    });
  }

  static async open(): Promise<HostilePod> {
    const directory = await mkdtemp(join(tmpdir(), 'berth-hostile-'));
    const authority = await CertificateAuthority.create(join(directory, 'ca'));
    const { cert, key } = await authority.server('hostile');
    const server = createServer({ cert: await readFile(cert), key: await readFile(key) });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new HostilePod(server, await readFile(authority.cert, 'utf8'), directory);
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The next command that somebody runs in this pod. */
  stream(): Promise<HostileStream> {
    this.#streams = this.#streams.filter(({ ended }) => !ended);
    const stream = this.#streams.shift();
    if (stream !== undefined) return Promise.resolve(stream);
    return new Promise((resolve) => this.#wanted.push(resolve));
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await rm(this.directory, { recursive: true, force: true });
  }
}

/** The pod's end of one exec stream. */
export class HostileStream {
  readonly #socket: Duplex;
  /** Of the command's standard input, what has been read. */
  input = Buffer.alloc(0);
  #raw = Buffer.alloc(0);
  ended = false;

  constructor(socket: Duplex) {
    this.#socket = socket;
    socket.on('error', () => undefined);
    socket.on('close', () => (this.ended = true));
    socket.on('data', (bytes: Buffer) => this.#read(bytes));
  }

  /** Nothing of what the other end sends is read any more. */
  stopReading(): void {
    this.#socket.pause();
  }

  /** One message on a channel. @returns when it has been sent, or never will be */
  async say(bytes: Buffer, channel = 1): Promise<void> {
    await this.raw(Buffer.concat([header(bytes.length + 1), Buffer.from([channel]), bytes]));
  }

  /** What is no message, perhaps. */
  async raw(bytes: Buffer): Promise<void> {
    if (this.ended) return;
    await new Promise<void>((resolve) => {
      this.#socket.once('close', resolve);
      this.#socket.write(bytes, () => {
        this.#socket.off('close', resolve);
        resolve();
      });
    });
  }

  /** Client's frames: masked, of any length (RFC 6455, 5.2). */
  #read(bytes: Buffer): void {
    this.#raw = Buffer.concat([this.#raw, bytes]);
    for (;;) {
      const [opcode = 0, short = 0] = this.#raw;
      const size = short & 0x7f;
      const at = size === 126 ? 4 : size === 127 ? 10 : 2;
      if (this.#raw.length < at + 4) return;
      const length =
        size === 126
          ? this.#raw.readUInt16BE(2)
          : size === 127
            ? Number(this.#raw.readBigUInt64BE(2))
            : size;
      if (this.#raw.length < at + 4 + length) return;
      const mask = this.#raw.subarray(at, at + 4);
      const payload = this.#raw
        .subarray(at + 4, at + 4 + length)
        .map((byte, index) => byte ^ (mask[index % 4] ?? 0));
      this.#raw = this.#raw.subarray(at + 4 + length);
      // Binary, on the channel of standard input.
      if ((opcode & 0x0f) === 2 && payload[0] === 0)
        this.input = Buffer.concat([this.input, payload.subarray(1)]);
    }
  }
}

/** Of a whole binary message, as a server sends it. */
export function header(length: number, first = 0x82): Buffer {
  const bytes = Buffer.alloc(10);
  bytes[0] = first;
  bytes[1] = 127;
  bytes.writeBigUInt64BE(BigInt(length), 2);
  return bytes;
}
