import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { isErrno } from '../../system/errors/berth-error.ts';
import { linesWithin } from '../../system/tcp-table.ts';

export interface UpgradeInput {
  readonly host: string;
  readonly port: number;
  /** CA, client certificate and expected server name. */
  readonly tls: ConnectionOptions;
  /** The complete HTTP request. */
  readonly request: string;
  /** Time limit until the response has arrived, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/** A bidirectional stream after status 101; otherwise the body of the response. */
export type UpgradeResult =
  | { readonly head: ResponseHead; readonly socket: UpgradedSocket }
  | { readonly head: ResponseHead; readonly refusal: string };

export interface StreamReader {
  /** Receives bytes, which are valid only during the call. */
  data(bytes: Buffer): void;
  /** Called once, at the end; with an error if the connection was lost. */
  ended(error: Error | undefined): void;
}

/** Size of the one buffer into which everything is read. Bytes. */
const readSize = 64 * 1024;

/** TCP keepalive: the first probe after this silence in milliseconds, then ten more, one per second. */
const keepAliveDelay = 15_000;

const lastWordMs = 1000;

/** How many retransmissions in a row may stay unacknowledged: six take 13 seconds. */
const silentHost = 6;

/**
 * A TLS connection after an HTTP upgrade. Data is passed on in the buffer into which it was read, so a long stream
 * creates no garbage.
 */
export class UpgradedSocket {
  readonly #socket: TLSSocket;
  #reader: StreamReader | undefined;
  #early: Buffer[] = [];

  constructor(socket: TLSSocket, early: Buffer) {
    this.#socket = socket;
    if (early.length > 0) this.#early.push(early);
  }

  /** Starts passing data to the reader, beginning with what has already arrived. */
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

  /** @param done called when the caller may reuse the bytes */
  write(bytes: Buffer, done?: () => void): void {
    this.#socket.write(bytes, done);
  }

  /** Whether the other host does not acknowledge at the TCP level, regardless of its program. */
  hostIsSilent(): boolean {
    const { localPort: local, remotePort: remote } = this.#socket;
    if (local === undefined || remote === undefined) return false;
    return unackedRetransmits({ local, remote }) >= silentHost;
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
 * Connects, sends the request and reads the head of the response.
 *
 * @throws {Error} errors of node:tls with their `code`; `ETIMEDOUT` when the time limit has passed
 */
export async function openUpgrade(call: UpgradeInput): Promise<UpgradeResult> {
  const { promise, resolve, reject } = Promise.withResolvers<UpgradeResult>();
  const buffer = Buffer.from(new ArrayBuffer(readSize));
  let before = Buffer.alloc(0);
  let stream: UpgradedSocket | undefined;
  const received = (bytes: Buffer): void => {
    if (stream !== undefined) {
      stream.received(bytes);
      return;
    }
    before = Buffer.concat([before, bytes]);
    try {
      const head = parseResponseHead(before);
      if (head === undefined) return;
      const rest = before.subarray(head.length);
      if (head.status === 101) {
        stream = new UpgradedSocket(socket, rest);
        resolve({ head, socket: stream });
      } else {
        const refusal = completeBody(head, rest);
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
  const timer = setTimeout(
    () => fail('ETIMEDOUT', `no response within ${call.timeoutMs} ms`),
    call.timeoutMs,
  );
  const fail = (code: string, message: string): void => {
    socket.destroy(Object.assign(new Error(message), { code }));
  };
  const abort = (): void => fail('ABORT_ERR', 'aborted');
  call.signal?.addEventListener('abort', abort, { once: true });
  let broken: Error | undefined;
  socket.on('error', (error: Error) => {
    broken = error;
  });
  socket.on('close', () => {
    const error =
      broken ??
      Object.assign(new Error('the server closed the connection'), { code: 'ECONNRESET' });
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
 * Continues reading after a failed write, for a second or until the end. When a server has sent everything it closes, and
 * a write at that moment fails. Node would then discard what the server has sent and we have not read.
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

/** The ports of a TCP connection of this process. */
interface TcpPorts {
  readonly local: number;
  readonly remote: number;
}

/**
 * How many times in a row the kernel has retransmitted data, or sent a zero-window probe, without an acknowledgement.
 * The interval doubles each time from 0.2 s, so six retransmissions take 13 s. A living host acknowledges even if its
 * program does not read. The kernel itself gives up on a silent host after a quarter of an hour (tcp_retries2).
 */
function unackedRetransmits(ports: TcpPorts): number {
  for (const file of ['tcp', 'tcp6']) {
    for (const line of linesWithin(`/proc/self/net/${file}`, { left: Infinity, exceeded: false })) {
      // proc(5): sl, local_address, rem_address, st, queues, timer, retrnsmt, uid, timeout
      const [, local, remote, , , , again = '0', , probes = '0'] = line.trim().split(/\s+/);
      if (portOf(local) === ports.local && portOf(remote) === ports.remote)
        return Math.max(Number.parseInt(again, 16), Number(probes));
    }
  }
  return 0;
}

function portOf(address: string | undefined): number {
  return Number.parseInt(address?.split(':')[1] ?? '', 16);
}

/** Status line and headers of an HTTP/1.1 response. */
interface ResponseHead {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  /** Length of this head in bytes. */
  readonly length: number;
}

const longestHead = 64 * 1024;

/** A Status has some hundred bytes; a proxy's error page may be longer. Bytes. */
const longestBody = 256 * 1024;

/** @returns undefined while it is incomplete. @throws {Error} `EPROTO` if it is not an HTTP/1.1 response */
export function parseResponseHead(bytes: Buffer): ResponseHead | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) {
    if (bytes.length > longestHead) throw malformed('headers that do not end');
    return undefined;
  }
  const [first = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const status = /^HTTP\/1\.1 (\d{3})(?: |$)/.exec(first)?.[1];
  if (status === undefined) throw malformed('something other than HTTP/1.1');
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    if (colon < 1) throw malformed('a header without a name');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return { status: Number(status), headers: new Map(headers), length: end + 4 };
}

/** The body of a response as text, or its beginning if it is very long; undefined while it is incomplete. */
export function completeBody({ headers }: ResponseHead, bytes: Buffer): string | undefined {
  const text = bytes.toString('utf8');
  if (bytes.length >= longestBody) return text;
  if (headers.get('transfer-encoding') === 'chunked') {
    if (!text.endsWith('\r\n0\r\n\r\n')) return undefined;
    return text.replace(/(^|\r\n)[\da-f]+\r\n/gi, '').trimEnd();
  }
  return bytes.length < Number(headers.get('content-length') ?? 0) ? undefined : text;
}

function malformed(what: string): Error {
  return Object.assign(new Error(`the server responded with ${what}`), { code: 'EPROTO' });
}
