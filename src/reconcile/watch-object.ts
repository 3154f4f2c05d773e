import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { BerthError } from '../errors.ts';
import type { ApiServer } from './api-server.ts';
import { addressOf, tlsOptions } from './tls-options.ts';
import { installedPath } from '../installed-path.ts';

/** `type` of an event (meta/v1 WatchEvent) and the object as it is then. */
export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: Readonly<Record<string, unknown>>;
}

/**
 * Every change of one object from now on, the object as it is first. Ends where the server ends it, as
 * it does for a watch that is old: then it is asked for again.
 *
 * @param collection Path of the collection.
 * @throws {BerthError} `api-unreachable`; `api-overloaded` for 429 and 5xx; `api-watch-refused`
 *   for another status than 200
 */
export async function* watchObject(
  server: ApiServer,
  collection: string,
  name: string,
  signal: AbortSignal,
): AsyncGenerator<WatchEvent> {
  const base = new URL(server.url);
  const field = encodeURIComponent(`metadata.name=${name}`);
  const path = `${base.pathname.replace(/\/$/, '')}${collection}?watch=1&fieldSelector=${field}`;
  const response = await answered(server, base, path, signal);
  let rest = '';
  for await (const chunk of response.setEncoding('utf8')) {
    const lines = (rest + String(chunk)).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line !== '') yield JSON.parse(line) as WatchEvent;
  }
}

function answered(
  server: ApiServer,
  base: URL,
  path: string,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const address = addressOf(base);
  return new Promise((resolve, reject) => {
    const asked = request({
      ...{ ...address, ...tlsOptions(address.host, server), path, signal, agent: false },
      headers: { accept: 'application/json', authorization: `Bearer ${server.token ?? ''}` },
    });
    asked.on('response', (response) => {
      if (response.statusCode === 200) {
        resolve(response);
        return;
      }
      response.destroy();
      reject(refused(path, response.statusCode ?? 0));
    });
    asked.on('error', (cause) =>
      reject(
        new BerthError(`connecting to ${base.host}: ${cause.message}`, {
          code: 'api-unreachable',
          exit: 'temporary',
          hint: 'See whether the API server runs and this host may reach it.',
          cause,
        }),
      ),
    );
    asked.end();
  });
}

function refused(path: string, status: number): BerthError {
  const busy = status === 429 || status >= 500;
  return new BerthError(`watching ${path}: the API server answered ${status}`, {
    code: busy ? 'api-overloaded' : 'api-watch-refused',
    exit: busy ? 'temporary' : 'unavailable',
    hint: busy
      ? 'The API server sheds load; see its priority and fairness metrics. The next login tries again.'
      : `See whether the ClusterRole berth-session of ${installedPath('share/etc/kubernetes/ssh-sessions.yaml')} is there.`,
  });
}
