import { type Agent, request } from 'node:https';

export interface Request {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | URLSearchParams;
  /** PEM of the CA that must have issued the server's certificate. */
  readonly ca: string;
  /** PEM of a client certificate and its key. */
  readonly client?: { readonly cert: string; readonly key: string };
  readonly timeoutMs?: number;
  /** Keeps connections open between requests; default: a new connection for each request. */
  readonly agent?: Agent;
}

export interface Response {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** Sends one HTTPS request. `fetch` has no option for the CA. */
export function send(url: string, options: Request): Promise<Response> {
  const form = options.body instanceof URLSearchParams;
  const body = options.body?.toString();
  const headers = {
    ...(form ? { 'content-type': 'application/x-www-form-urlencoded' } : {}),
    ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
    ...options.headers,
  };
  return new Promise((resolve, reject) => {
    const outgoing = request(
      url,
      {
        method: options.method ?? 'GET',
        headers,
        ca: options.ca,
        agent: options.agent ?? false,
        ...options.client,
      },
      (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.on('error', reject);
        incoming.on('end', () => {
          resolve({
            status: incoming.statusCode ?? 0,
            headers: incoming.headers,
            text: Buffer.concat(chunks).toString('utf8'),
          });
        });
      },
    );
    outgoing.setTimeout(options.timeoutMs ?? 10_000, () => {
      outgoing.destroy(new Error(`${url} did not answer in time`));
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}
