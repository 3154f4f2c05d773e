import { type ClientHttp2Session, connect } from 'node:http2';
import { once } from 'node:events';
import { say } from '../../rig/site/progress.ts';

/** An object of the API, and the path of the collection that it is created in. */
export interface NewObject {
  readonly collection: string;
  readonly body: object;
}

/** The requests of one connection at the same time. */
const width = 60;

/** An admin's connection to an API server, for many requests. */
export class ApiLoad {
  readonly #session: ClientHttp2Session;

  private constructor(session: ClientHttp2Session) {
    this.#session = session;
  }

  static async connect(
    server: string,
    tls: { readonly ca: string; readonly cert: string; readonly key: string },
  ): Promise<ApiLoad> {
    const session = connect(server, tls);
    await once(session, 'connect');
    return new ApiLoad(session);
  }

  /** Creates objects. @throws Error if one is not created */
  async createAll(what: string, objects: Iterable<NewObject>): Promise<void> {
    const rest = objects[Symbol.iterator]();
    let count = 0;
    await Promise.all(
      Array.from({ length: width }, async () => {
        for (let next = rest.next(); next.done !== true; next = rest.next()) {
          await this.#create(next.value);
          if ((count += 1) % 2_500 === 0) say(`… ${count} ${what}`);
        }
      }),
    );
  }

  /** @throws Error if the status is not 2xx */
  async #create({ collection, body }: NewObject): Promise<void> {
    const headers = { ':method': 'POST', ':path': collection, 'content-type': 'application/json' };
    const stream = this.#session.request(headers);
    stream.end(JSON.stringify(body));
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    const [{ ':status': status }] = (await once(stream, 'response')) as [{ ':status': number }];
    if (!stream.readableEnded) await once(stream, 'end');
    if (status >= 300)
      throw new Error(`POST ${collection}: ${status} ${Buffer.concat(chunks).toString()}`);
  }

  close(): void {
    this.#session.close();
  }
}
