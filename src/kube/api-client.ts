import { setTimeout as sleep } from 'node:timers/promises';
import { BerthError } from '../system/errors/berth-error.ts';
import { userAgent } from '../system/program/session-id.ts';
import type { ApiServer } from './api-server.ts';
import type { WireResponse, Connection } from './connection.ts';
import { openConnection } from './open-connection.ts';
import { parsedJson } from '../system/text/parsed-json.ts';
import { asMapping } from '../system/text/mapping.ts';

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path with query, below the server's base URL. */
  readonly path: string;
  readonly body?: string;
  readonly contentType?: string;
  /** `application/json` by default. */
  readonly accept?: string;
  /** Receives the body of a 200 as it arrives, for a watch. Such a request is sent once. */
  readonly onData?: (chunk: Buffer) => void;
}

export interface ApiResponse {
  readonly status: number;
  /** The object, or the `Status` of an error; of an error that is not JSON, its text as `message`. */
  readonly body: Readonly<Record<string, unknown>>;
}

export interface ApiClient {
  /**
   * Resolves with any HTTP status. Throws `api-unreachable`, `api-certificate`, `api-connection-lost`,
   * `api-deadline`, `api-answer-too-large` or `api-answer-invalid` if there is no valid answer.
   */
  send(request: ApiRequest): Promise<ApiResponse>;
  /** Pending requests fail with `api-connection-lost`. */
  close(): void;
}

/**
 * In bytes. Users can make objects of 1.5 MiB (`--max-request-bytes` of etcd), of which the API server writes each `<`, `>` and `&` as six
 * bytes: one object always fits, so that nobody is out of a list's reach because of what somebody else made.
 */
const largestBody = 16 * 1024 * 1024;

/** Attempts at one request, including the first. */
const attempts = 3;

/** Milliseconds before a change that conflicted with another writer's is sent again. */
const conflictPause = 50;

/** Runs `work` with a client, whose connection is closed then. @throws the errors of `work` */
export async function withApiClient<T>(
  server: ApiServer,
  deadline: AbortSignal,
  work: (client: ApiClient) => Promise<T>,
): Promise<T> {
  const client = apiClient(server, deadline);
  try {
    return await work(client);
  } finally {
    client.close();
  }
}

/**
 * One HTTP/2 connection for all requests of a cluster: the requests of one login are sent together and
 * take one round trip. `deadline` limits everything; when it fires, the connection is closed.
 *
 * @param onConnected Called after the TLS handshake.
 */
export function apiClient(
  server: ApiServer,
  deadline: AbortSignal,
  onConnected: () => void = () => undefined,
): ApiClient {
  const base = new URL(server.url);
  const prefix = base.pathname.replace(/\/$/, '');
  const headers = {
    accept: 'application/json',
    'user-agent': userAgent(server.session),
    ...(server.token !== undefined && { authorization: `Bearer ${server.token}` }),
  };
  let connection: Promise<Connection> | undefined;
  let closed = false;

  const once = async (request: ApiRequest): Promise<WireResponse> => {
    connection ??= openConnection(base, server, deadline).then((open) => {
      onConnected();
      return open;
    });
    const mine = connection;
    try {
      return await (
        await mine
      ).roundTrip({
        method: request.method,
        path: prefix + request.path,
        headers: {
          ...headers,
          ...(request.accept !== undefined && { accept: request.accept }),
          ...(request.contentType !== undefined && { 'content-type': request.contentType }),
        },
        ...(request.body !== undefined && { body: request.body }),
        ...(request.onData && { onData: request.onData }),
        largestBody,
      });
    } catch (thrown) {
      // The first request that fails on a lost connection discards the connection for all requests.
      if (connection === mine && isLost(thrown)) {
        connection = undefined;
        close(mine);
      }
      throw thrown;
    }
  };

  return {
    async send(request) {
      const most = request.onData === undefined ? attempts : 1;
      for (let attempt = 1; ; attempt += 1) {
        let answer: WireResponse;
        try {
          answer = await once(request);
        } catch (thrown) {
          if (deadline.aborted)
            throw new BerthError(
              'api-deadline',
              `${request.method} ${request.path} at ${base.host}: no answer before the deadline`,
            );
          // A server that restarts or is overloaded closes the connection, so try a new one. Not after
          // close() was called: nobody would close the new connection.
          if (closed || attempt === most || !isLost(thrown)) throw thrown;
          continue;
        }
        const pause = retryPause(answer, request);
        if (pause === undefined || attempt === most || !(await slept(pause, deadline)))
          return parse(answer, request, base);
      }
    },
    close() {
      closed = true;
      if (connection !== undefined) close(connection);
    },
  };
}

function isLost(thrown: unknown): boolean {
  return thrown instanceof BerthError && thrown.code === 'api-connection-lost';
}

function close(connection: Promise<Connection>): void {
  connection.then(
    (open) => open.close(),
    () => undefined,
  );
}

/** False if the deadline came first; the server's last answer is then used. */
async function slept(milliseconds: number, deadline: AbortSignal): Promise<boolean> {
  try {
    await sleep(milliseconds, undefined, { signal: deadline });
    return true;
  } catch {
    return false;
  }
}

/**
 * Milliseconds to wait before a retry, or undefined for none: the server's `Retry-After` on 429 and on
 * 5xx, as API priority and fairness sends it. An apply that conflicted with another write of the same
 * object (409, for instance the status of a quota) can be repeated; a POST of an existing object cannot.
 */
function retryPause(
  { status, retryAfter, text }: WireResponse,
  { method }: ApiRequest,
): number | undefined {
  if (status === 409 && method === 'PATCH' && /"reason": ?"Conflict"/.test(text))
    return conflictPause;
  if (status !== 429 && status < 500) return undefined;
  const seconds = Number(retryAfter);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}

function parse(answer: WireResponse, request: ApiRequest, base: URL): ApiResponse {
  if (request.onData !== undefined && answer.status === 200) return { status: 200, body: {} };
  const body = asMapping(parsedJson(answer.text));
  if (body !== undefined) return { status: answer.status, body };
  if (answer.status >= 400)
    return { status: answer.status, body: { message: answer.text.slice(0, 200) } };
  throw new BerthError(
    'api-answer-invalid',
    `${request.method} ${request.path} at ${base.host}: the answer is not the JSON object that an API server sends`,
  );
}
