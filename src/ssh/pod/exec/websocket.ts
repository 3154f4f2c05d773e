import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { isErrno } from '../../../errors.ts';
import { parseHead, wholeBody, type HttpHead } from './http-head.ts';
import { unacknowledged } from './unacked-bytes.ts';

export interface UpgradeCall {
  readonly host: string;
  readonly port: number;
  /** Certificates, and the name that is expected. */
  readonly tls: ConnectionOptions;
  /** The request, complete. */
  readonly request: string;
  /** For all up to the answer, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/** What came back: a stream in both directions after `101`, else the text of a refusal. */
export type UpgradeAnswer =
  | { readonly head: HttpHead; readonly socket: StreamSocket }
  | { readonly head: HttpHead; readonly refusal: string };

export interface StreamReader {
  /** Bytes, valid during the call only. */
  data(bytes: Buffer): void;
  /** Once, last: the stream ended, or broke. */
  ended(error: Error | undefined): void;
}

/** Bytes on the way in land here: one buffer for all of them. */
const readSize = 64 * 1024;

/** A host that is gone is asked after so many milliseconds of silence, then each second, ten times. */
const keepAliveDelay = 15_000;

const lastWordMs = 1000;

/** So often in a row the kernel may hear nothing: 13 seconds. */
const silentHost = 6;

/**
 * A TLS connection after an HTTP upgrade. What is read is handed on where it was read to, so that a long
 * stream leaves nothing for the garbage collector.
 */
export class StreamSocket {
  readonly #socket: TLSSocket;
  #reader: StreamReader | undefined;
  #early: Buffer[] = [];

  constructor(socket: TLSSocket, early: Buffer) {
    this.#socket = socket;
    if (early.length > 0) this.#early.push(early);
  }

  /** From now on the reader has what comes, and what came before. */
  start(reader: StreamReader): void {
    this.#reader = reader;
    for (const bytes of this.#early.splice(0)) reader.data(bytes);
  }

  received(bytes: Buffer): void {
    if (this.#reader === undefined) this.#early.push(Buffer.from(bytes));
    else this.#reader.data(bytes);
  }

  ended(error: Error | undefined): void {
    this.#reader?.ended(error);
    this.#reader = undefined;
  }

  /** @param done The bytes are the caller's again. */
  write(bytes: Buffer, done?: () => void): void {
    this.#socket.write(bytes, done);
  }

  /** Whether the other host itself is silent, whatever its program does. */
  hostIsSilent(): boolean {
    const { localPort: local, remotePort: remote } = this.#socket;
    if (local === undefined || remote === undefined) return false;
    return unacknowledged({ local, remote }) >= silentHost;
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  destroy(): void {
    this.#socket.destroy();
  }
}

/**
 * Connects, sends the request and reads the head of the answer.
 *
 * @throws What node:tls throws, with its `code`; `ETIMEDOUT` after the time is over.
 */
export async function openUpgrade(call: UpgradeCall): Promise<UpgradeAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<UpgradeAnswer>();
  const buffer = Buffer.from(new ArrayBuffer(readSize));
  let before = Buffer.alloc(0);
  let stream: StreamSocket | undefined;
  const received = (bytes: Buffer): void => {
    if (stream !== undefined) {
      stream.received(bytes);
      return;
    }
    before = Buffer.concat([before, bytes]);
    try {
      const head = parseHead(before);
      if (head === undefined) return;
      const rest = before.subarray(head.length);
      if (head.status === 101) {
        stream = new StreamSocket(socket, rest);
        resolve({ head, socket: stream });
      } else {
        const refusal = wholeBody(head, rest);
        if (refusal !== undefined) resolve({ head, refusal });
      }
    } catch (thrown) {
      reject(thrown);
    }
  };
  const onread = {
    buffer,
    callback: (size: number): boolean => {
      received(buffer.subarray(0, size));
      return true;
    },
  };
  const { host, port } = call;
  const options = { ...call.tls, host, port, ALPNProtocols: ['http/1.1'], onread };
  const socket: TLSSocket = connect(options);
  socket.setNoDelay(true);
  socket.setKeepAlive(true, keepAliveDelay);
  readOnAfterFailedWrite(socket);
  const timer = setTimeout(() => fail('ETIMEDOUT', 'no answer in time'), call.timeoutMs);
  const fail = (code: string, message: string): void => {
    socket.destroy(Object.assign(new Error(message), { code }));
  };
  const abort = (): void => fail('ABORT_ERR', 'given up');
  call.signal?.addEventListener('abort', abort, { once: true });
  let broken: Error | undefined;
  socket.on('error', (error: Error) => {
    broken = error;
  });
  socket.on('close', () => {
    const error =
      broken ?? Object.assign(new Error('it closed the connection'), { code: 'ECONNRESET' });
    reject(error);
    stream?.ended(broken);
  });
  socket.on('end', () => stream?.ended(broken));
  socket.once('secureConnect', () => socket.write(call.request));
  try {
    const answer = await promise;
    if ('refusal' in answer) socket.destroy();
    return answer;
  } catch (thrown) {
    socket.destroy();
    throw thrown;
  } finally {
    clearTimeout(timer);
    call.signal?.removeEventListener('abort', abort);
  }
}

/**
 * A server that has said its last word closes, and what we send at that moment fails, with the word still
 * unread: Node would throw it away. Reading goes on until the reader has seen the end, or a second.
 */
function readOnAfterFailedWrite(socket: TLSSocket): void {
  const destroy = socket.destroy.bind(socket);
  let failed = false;
  socket.destroy = (error?: Error): TLSSocket => {
    if (failed || !isErrno(error) || error.syscall !== 'write') return destroy(error);
    failed = true;
    setTimeout(() => void destroy(error), lastWordMs).unref();
    return socket;
  };
}
