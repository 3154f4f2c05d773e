import { PassThrough } from 'node:stream';
import type { LiveObject } from './objects/kube-object.ts';
import { asBerthError, BerthError } from '../system/errors/berth-error.ts';
import { apiClient, type ApiClient } from './api-client.ts';
import type { ApiServer } from './api-server.ts';

/** `type` of an event (meta/v1 WatchEvent), and the object after it. */
export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: Readonly<Record<string, unknown>>;
}

/**
 * Watches one object: yields it as it is, then each change, and `DELETED` if it does not exist. It ends when the server
 * ends the watch, as it does after some minutes, or when the connection is lost: then the caller watches again.
 *
 * @param collection path of the collection
 * @param since The object's `resourceVersion`, if the caller has just created it: only later changes are yielded.
 * @throws {BerthError} `api-overloaded` for 429 and 5xx, `api-watch-refused` for another status than 200, and the errors
 *   of `ApiClient.send`
 */
export async function* watchObject(
  server: ApiServer,
  collection: string,
  name: string,
  { signal, since }: { readonly signal: AbortSignal; readonly since?: string | undefined },
): AsyncGenerator<WatchEvent> {
  const client = apiClient(server, signal);
  try {
    let version = since;
    if (version === undefined) {
      // A watch alone would never tell that there is no object.
      const path = `${collection}/${encodeURIComponent(name)}`;
      const { status, body } = await client.send({ method: 'GET', path });
      if (status === 404) {
        yield { type: 'DELETED', object: {} };
        return;
      }
      if (status !== 200) throw refused(path, status);
      yield { type: 'ADDED', object: body };
      version = (body as LiveObject).metadata.resourceVersion ?? '';
    }
    const field = encodeURIComponent(`metadata.name=${name}`);
    const query = `watch=1&fieldSelector=${field}&resourceVersion=${encodeURIComponent(version)}`;
    yield* changes(client, `${collection}?${query}`);
  } catch (thrown) {
    if (!(thrown instanceof BerthError) || thrown.code !== 'api-connection-lost') throw thrown;
  } finally {
    client.close();
  }
}

async function* changes(client: ApiClient, path: string): AsyncGenerator<WatchEvent> {
  const body = new PassThrough({ encoding: 'utf8' });
  client.send({ method: 'GET', path, onData: (chunk) => body.write(chunk) }).then(
    // 410: the version is too old. The caller starts again.
    ({ status }) =>
      status === 200 || status === 410 ? body.end() : body.destroy(refused(path, status)),
    (thrown: unknown) => body.destroy(asBerthError(thrown, `watching ${path}`)),
  );
  let rest = '';
  for await (const chunk of body) {
    const lines = (rest + String(chunk)).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line !== '') yield JSON.parse(line) as WatchEvent;
  }
}

function refused(path: string, status: number): BerthError {
  const busy = status === 429 || status >= 500;
  return new BerthError(
    busy ? 'api-overloaded' : 'api-watch-refused',
    `watching ${path}: the API server answered ${status}`,
  );
}
