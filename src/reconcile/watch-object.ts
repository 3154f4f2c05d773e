import { PassThrough } from 'node:stream';
import { asBerthError, BerthError } from '../errors.ts';
import { apiClient } from './api-client.ts';
import type { ApiServer } from './api-server.ts';
import { installedPath } from '../installed-path.ts';

/** `type` of an event (meta/v1 WatchEvent), and the object after it. */
export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: Readonly<Record<string, unknown>>;
}

/**
 * Watches one object: yields it as it is, then each change. It ends when the server ends the watch, as it does after
 * some minutes, or when the connection is lost: then the caller watches again.
 *
 * @param collection path of the collection
 * @throws {BerthError} `api-overloaded` for 429 and 5xx, `api-watch-refused` for another status than 200, and the errors
 *   of `ApiClient.send`
 */
export async function* watchObject(
  server: ApiServer,
  collection: string,
  name: string,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent> {
  const path = `${collection}?watch=1&fieldSelector=${encodeURIComponent(`metadata.name=${name}`)}`;
  const client = apiClient(server, signal);
  const body = new PassThrough({ encoding: 'utf8' });
  client.send({ method: 'GET', path, onData: (chunk) => body.write(chunk) }).then(
    ({ status }) => (status === 200 ? body.end() : body.destroy(refused(path, status))),
    (thrown: unknown) => {
      const error = asBerthError(thrown, `watching ${path}`);
      return error.code === 'api-connection-lost' ? body.end() : body.destroy(error);
    },
  );
  try {
    let rest = '';
    for await (const chunk of body) {
      const lines = (rest + String(chunk)).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (line !== '') yield JSON.parse(line) as WatchEvent;
    }
  } finally {
    client.close();
  }
}

function refused(path: string, status: number): BerthError {
  const busy = status === 429 || status >= 500;
  return new BerthError(`watching ${path}: the API server answered ${status}`, {
    code: busy ? 'api-overloaded' : 'api-watch-refused',
    exit: busy ? 'temporary' : 'unavailable',
    hint: busy
      ? 'The API server is overloaded. Check its metrics for API Priority and Fairness. The next login tries again.'
      : `Check that the ClusterRole berth-session exists; ${installedPath('share/etc/kubernetes/ssh-sessions.yaml')} creates it.`,
  });
}
