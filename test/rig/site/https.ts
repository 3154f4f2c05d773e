import { type Agent, request } from 'node:https';

export interface Request {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | URLSearchParams;
  /** PEM of the certificate authority that the server's certificate must come from. */
  readonly ca: string;
  /** PEM of a client certificate and its key. */
  readonly client?: { readonly cert: string; readonly key: string };
  readonly timeoutMs?: number;
  /** Keeps connections, where that is wanted; else each request has one of its own. */
  readonly agent?: Agent;
}

export interface Response {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** One HTTPS request on a connection of its own, which is what `fetch` cannot do with a CA of ours. */
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
      outgoing.destroy(new Error(`${url} gave no answer in time`));
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}
