import type { ClientHttp2Session } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { BerthError } from '../errors.ts';
import type { ApiServer } from './api-server.ts';
import { connectHttp2, roundTrip, type Answer } from './http2-transport.ts';

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PATCH';
  /** Path with query, below the server's base URL. */
  readonly path: string;
  readonly body?: string;
  readonly contentType?: string;
}

export interface ApiResponse {
  readonly status: number;
  /** The object, or the `Status` of an error; `{}` where the body is not JSON and not wanted. */
  readonly body: Readonly<Record<string, unknown>>;
}

export interface ApiClient {
  /**
   * Any HTTP status is an answer. Throws `api-unreachable`, `api-certificate`, `api-deadline` or
   * `api-garbled` where there is none.
   */
  send(request: ApiRequest): Promise<ApiResponse>;
  close(): void;
}

/** Bodies of the hook's objects are a few KiB; a megabyte is a server gone mad. */
const largestBody = 4 * 1024 * 1024;

/** Attempts at one request: the first and two more, where the server asked for it. */
const attempts = 3;

/**
 * One HTTP/2 connection for all requests of a cluster: the requests of one login go out together and
 * cost one round trip. `deadline` bounds everything; when it fires, whatever is open is dropped.
 */
export function apiClient(server: ApiServer, deadline: AbortSignal): ApiClient {
  const base = new URL(server.url);
  const prefix = base.pathname.replace(/\/$/, '');
  const headers = {
    accept: 'application/json',
    'user-agent': 'berth',
    ...(server.token === undefined ? {} : { authorization: `Bearer ${server.token}` }),
  };
  let session: Promise<ClientHttp2Session> | undefined;

  const once = async (request: ApiRequest): Promise<Answer> => {
    session ??= connectHttp2(base, server, deadline);
    return roundTrip(
      await session,
      {
        headers: {
          ...headers,
          ':method': request.method,
          ':path': prefix + request.path,
          ...(request.contentType === undefined ? {} : { 'content-type': request.contentType }),
        },
        ...(request.body === undefined ? {} : { body: request.body }),
        largestBody,
      },
      deadline,
    );
  };

  return {
    async send(request) {
      for (let attempt = 1; ; attempt += 1) {
        try {
          const answer = await once(request);
          const pause = retryPause(answer);
          if (pause === undefined || attempt === attempts) return parse(answer, request, base);
          await sleep(pause, undefined, { signal: deadline });
        } catch (thrown) {
          if (deadline.aborted) throw deadlineError(request, base);
          // A server that restarts or sheds load closes the connection: one fresh one is worth a try.
          if (
            attempt === attempts ||
            !(thrown instanceof BerthError) ||
            thrown.code !== 'api-connection-lost'
          )
            throw thrown;
          session = undefined;
        }
      }
    },
    close() {
      session?.then(
        (open) => open.destroy(),
        () => undefined,
      );
    },
  };
}

/**
 * Milliseconds to wait before asking again: the server's own `Retry-After` on 429 and on 5xx, as
 * API priority and fairness sends it; undefined where it did not ask.
 */
function retryPause({ status, headers }: Answer): number | undefined {
  if (status !== 429 && status < 500) return undefined;
  const seconds = Number(headers['retry-after']);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}

function parse(answer: Answer, request: ApiRequest, base: URL): ApiResponse {
  try {
    const body: unknown = JSON.parse(answer.text);
    if (typeof body === 'object' && body !== null)
      return { status: answer.status, body: body as Record<string, unknown> };
  } catch {
    // Reported below with what was received.
  }
  if (answer.status >= 400)
    return { status: answer.status, body: { message: answer.text.slice(0, 200) } };
  throw new BerthError(
    `${request.method} ${request.path} at ${base.host}: the answer is not the JSON object that an API server sends`,
    {
      code: 'api-garbled',
      exit: 'unavailable',
      hint: 'See what answers at this address: a proxy or a load balancer in front of the API server?',
    },
  );
}

function deadlineError(request: ApiRequest, base: URL): BerthError {
  return new BerthError(
    `${request.method} ${request.path} at ${base.host}: no answer before the deadline`,
    {
      code: 'api-deadline',
      exit: 'temporary',
      hint: 'See whether the API server is overloaded or unreachable from this host; the next login tries again.',
    },
  );
}
