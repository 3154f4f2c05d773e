import type { CustomFetch } from 'openid-client';
import { BerthError } from '../../system/errors/berth-error.ts';
import {
  invalidResponse,
  type HttpsResponse,
  type HttpsClient,
  type HttpsRequest,
} from '../../system/https-request.ts';

/** How the identity provider is asked. */
export interface ProviderEdges {
  readonly https: HttpsClient;
  /** For each request, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/**
 * openid-client's `customFetch` over our HTTPS, with its CA, timeouts and size limit.
 *
 * @param tls The CA of the provider, and the client's certificate.
 * @param inspect Is given each answer and the form it answers; openid-client gets what this returns.
 */
export function providerFetch(
  { https, timeoutMs, signal }: ProviderEdges,
  tls: Pick<HttpsRequest, 'ca' | 'clientCertificate'>,
  inspect: (answer: HttpsResponse, form: Readonly<Record<string, string>>) => HttpsResponse,
): CustomFetch {
  return async (url, { method, headers: { authorization }, body }) => {
    const form = body instanceof URLSearchParams ? Object.fromEntries(body) : undefined;
    const answer = await https({
      method: method === 'POST' ? 'POST' : 'GET',
      url,
      timeoutMs,
      ...tls,
      form,
      ...(authorization !== undefined && { headers: { authorization } }),
      signal,
    });
    const { status, json } = inspect(answer, form ?? {});
    return json === undefined ? new Response(null, { status }) : Response.json(json, { status });
  };
}

/** The provider answered with this status, and no OAuth error. */
export function unexpectedStatus(url: URL, status: number): BerthError {
  if (status < 500 && status !== 429) return invalidResponse(url, `HTTP ${status}`);
  return new BerthError(
    'issuer-unavailable',
    `${url.host}${url.pathname} answered with HTTP ${status}`,
  );
}

/** What `HttpsClient` or `inspect` threw: openid-client keeps it as the cause of its own error. */
export function berthErrorIn(thrown: unknown): BerthError | undefined {
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  return cause instanceof BerthError ? cause : undefined;
}
