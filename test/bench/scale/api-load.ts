import { type ClientHttp2Session, connect, type SecureClientSessionOptions } from 'node:http2';
import { once } from 'node:events';
import { say } from '../../rig/site/progress.ts';

/** An object of the API, and the path of the collection that it is created in. */
export interface NewObject {
  readonly collection: string;
  readonly body: object;
}

/** The requests of one connection at the same time. */
const width = 60;

/** An admin's client of an API server, for many requests. */
export class ApiLoad {
  readonly #server: string;
  readonly #tls: SecureClientSessionOptions;

  constructor(
    server: string,
    tls: { readonly ca: string; readonly cert: string; readonly key: string },
  ) {
    this.#server = server;
    this.#tls = tls;
  }

  /** Creates objects, on a connection of its own: the API server closes one that is idle. @throws Error if one is not created */
  async createAll(what: string, objects: Iterable<NewObject>): Promise<void> {
    const session = connect(this.#server, this.#tls);
    try {
      await once(session, 'connect');
      const rest = objects[Symbol.iterator]();
      let count = 0;
      await Promise.all(
        Array.from({ length: width }, async () => {
          for (let next = rest.next(); next.done !== true; next = rest.next()) {
            await create(session, next.value);
            if ((count += 1) % 2_500 === 0) say(`… ${count} ${what}`);
          }
        }),
      );
    } finally {
      session.destroy();
    }
  }
}

/** @throws Error if the status is not 2xx */
async function create(session: ClientHttp2Session, { collection, body }: NewObject): Promise<void> {
  const headers = { ':method': 'POST', ':path': collection, 'content-type': 'application/json' };
  const stream = session.request(headers);
  stream.end(JSON.stringify(body));
  const chunks: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  const [{ ':status': status }] = (await once(stream, 'response')) as [{ ':status': number }];
  if (!stream.readableEnded) await once(stream, 'end');
  if (status >= 300)
    throw new Error(`POST ${collection}: ${status} ${Buffer.concat(chunks).toString()}`);
}
