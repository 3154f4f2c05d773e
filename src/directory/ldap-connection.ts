import {
  BindRequest,
  ExtendedRequest,
  MessageParser,
  SearchEntry,
  SearchReference,
  type SearchRequest,
  UnbindRequest,
} from 'ldapts';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { LdapServer } from '../config/schema/ldap-settings.ts';
import { trustedCas } from '../system/trusted-cas.ts';
import {
  ldapConnectionLost,
  ldapResultError,
  ldapTimeout,
  ldapUnreachable,
} from './ldap-errors.ts';

export interface LdapConnectOptions {
  /** PEM; the system's certificates if absent. */
  readonly ca?: string;
  readonly bind?: { readonly dn: string; readonly password: string };
  /** Milliseconds without an answer after which a request fails. */
  readonly timeoutMs: number;
}

/** The complete answer to one request. */
export interface LdapAnswer {
  readonly entries: readonly SearchEntry[];
  readonly references: readonly string[];
  readonly final: Response;
}

type Request = BindRequest | ExtendedRequest | SearchRequest;

interface Response {
  readonly messageId: number;
  /** The result code. */
  readonly status: number;
  readonly errorMessage: string;
  readonly controls?: SearchRequest['controls'];
}

interface Pending {
  readonly attempted: string;
  readonly message: Request;
  readonly entries: SearchEntry[];
  readonly references: string[];
  readonly resolve: (answer: LdapAnswer) => void;
  readonly reject: (error: Error) => void;
}

/** RFC 4511, section 4.14. */
const startTlsOid = '1.3.6.1.4.1.1466.20037';

/**
 * One connection to one server, for one request at a time. It never reconnects: ldapts' own client
 * reconnects at the next search without TLS and without the bind, and servers return fewer
 * entries to anonymous clients. It also continues a search after an empty page.
 */
export class LdapConnection {
  readonly url: string;
  readonly #timeoutMs: number;
  #socket: Socket;
  #parser = new MessageParser();
  #pending: Pending | undefined;
  #fault: Error | undefined;
  #lastId = 0;

  /**
   * Connects, protects the connection and binds.
   *
   * @throws BerthError `ldap-unreachable`, `ldap-certificate`, `ldap-credentials-invalid` and the others of
   *   `ldap-errors.ts`
   */
  static async open(server: LdapServer, options: LdapConnectOptions): Promise<LdapConnection> {
    const socket = await connected(server, options);
    const connection = new LdapConnection(server.url, socket, options.timeoutMs);
    try {
      if ('tls' in server && server.tls === 'start') await connection.#startTls(server, options);
      if (options.bind !== undefined) await connection.#bind(options.bind);
      return connection;
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  private constructor(url: string, socket: Socket, timeoutMs: number) {
    this.url = url;
    this.#timeoutMs = timeoutMs;
    this.#socket = socket;
    this.#listen();
  }

  /** The number of the next message. */
  nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  /**
   * Sends a request and waits for its final, successful answer.
   *
   * @throws BerthError `ldap-connection-lost`, `ldap-timeout`, and by the result
   */
  async request(attempted: string, message: Request): Promise<LdapAnswer> {
    const doing = `${this.url}: ${attempted}`;
    if (this.#fault !== undefined) throw this.#fault;
    const answer = await new Promise<LdapAnswer>((resolve, reject) => {
      const mine = { attempted: doing, message, entries: [], references: [] };
      this.#pending = { ...mine, resolve, reject };
      this.#socket.setTimeout(this.#timeoutMs);
      this.#socket.write(message.write());
    });
    const { status, errorMessage } = answer.final;
    if (status !== 0) throw ldapResultError(doing, status, errorMessage);
    return answer;
  }

  close(): void {
    this.#fault ??= ldapConnectionLost(this.url, 'the connection was closed');
    if (!this.#socket.destroyed)
      this.#socket.end(new UnbindRequest({ messageId: this.nextId() }).write());
    this.#socket.destroySoon();
  }

  async #bind({ dn, password }: { dn: string; password: string }): Promise<void> {
    const messageId = this.nextId();
    await this.request(`binding as ${dn}`, new BindRequest({ messageId, dn, password }));
  }

  async #startTls(
    server: Extract<LdapServer, { host: string }>,
    { ca }: LdapConnectOptions,
  ): Promise<void> {
    const messageId = this.nextId();
    await this.request('StartTLS', new ExtendedRequest({ messageId, oid: startTlsOid }));
    const plain = this.#socket;
    plain.removeAllListeners();
    // Data received in the clear after the answer is not authenticated.
    this.#parser = new MessageParser();
    try {
      const secure = connectTls({ socket: plain, ...tlsOptions(server.host, ca) });
      await happened(secure, 'secureConnect', this.#timeoutMs);
      this.#socket = secure;
      this.#listen();
    } catch (error) {
      plain.destroy();
      throw ldapUnreachable(this.url, error);
    }
  }

  #listen(): void {
    const doing = (): string => this.#pending?.attempted ?? this.url;
    const lost = (reason: string, cause?: unknown): void =>
      this.#fail(ldapConnectionLost(doing(), reason, cause));
    this.#socket.setKeepAlive(true);
    this.#socket.on('data', (data: Buffer) => {
      const pending = this.#pending;
      const known = pending === undefined ? [] : [[String(pending.message.messageId), pending]];
      this.#parser.read(data, new Map(known as [string, Pending][]));
    });
    this.#socket.on('timeout', () => this.#fail(ldapTimeout(doing(), this.#timeoutMs)));
    this.#socket.on('error', (error) => lost(`the connection broke: ${error.message}`, error));
    this.#socket.on('close', () => lost('the server closed the connection before it had answered'));
    this.#parser.on('error', (error) =>
      lost(`the server sent invalid LDAP: ${error.message}`, error),
    );
    this.#parser.on('message', (message) => this.#took(message));
  }

  #took(message: Response): void {
    const pending = this.#pending;
    if (pending?.message.messageId !== message.messageId) {
      // RFC 4511, section 4.4.1: a notice of disconnection has the number 0.
      this.#fail(
        ldapConnectionLost(
          pending?.attempted ?? this.url,
          `the server closes the connection: ${said(message)}`,
        ),
      );
    } else if (message instanceof SearchEntry) pending.entries.push(message);
    else if (message instanceof SearchReference) pending.references.push(...message.uris);
    else {
      this.#pending = undefined;
      this.#socket.setTimeout(0);
      const { entries, references, resolve } = pending;
      resolve({ entries, references, final: message });
    }
  }

  #fail(error: Error): void {
    this.#fault ??= error;
    const pending = this.#pending;
    this.#pending = undefined;
    this.#socket.destroy();
    pending?.reject(this.#fault);
  }
}

function said({ status, errorMessage }: Response): string {
  return errorMessage === '' ? `result ${status}` : errorMessage;
}

async function connected(server: LdapServer, options: LdapConnectOptions): Promise<Socket> {
  const socket =
    'socketPath' in server
      ? connectTcp({ path: server.socketPath })
      : server.tls === 'from-the-start'
        ? connectTls({
            host: server.host,
            port: server.port,
            ...tlsOptions(server.host, options.ca),
          })
        : connectTcp({ host: server.host, port: server.port });
  const event = 'tls' in server && server.tls === 'from-the-start' ? 'secureConnect' : 'connect';
  try {
    await happened(socket, event, options.timeoutMs);
    return socket;
  } catch (error) {
    socket.destroy();
    throw ldapUnreachable(server.url, error);
  }
}

function tlsOptions(host: string, ca: string | undefined): object {
  return {
    ...(!/^[\d.]+$|:/.test(host) && { servername: host }),
    host,
    ca: trustedCas(ca),
    // Set explicitly, or NODE_TLS_REJECT_UNAUTHORIZED could disable it.
    rejectUnauthorized: true,
  };
}

function happened(socket: Socket, event: string, timeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`no connection within ${timeoutMs / 1000} s`)),
      timeoutMs,
    );
    const over = (settle: () => void) => (): void => {
      clearTimeout(timer);
      settle();
    };
    socket.once(event, over(resolve));
    // This listener stays: a later error without one would end the process.
    socket.on('error', (error) => over(() => reject(error))());
    socket.once('close', () => over(() => reject(new Error('the server closed the connection')))());
  });
}
