import { constants } from 'node:http2';
import { type Behaviour, sessionOf } from './api-server-proxy.ts';

/** Changes the answer to the first matching request; the real API server answers the others. */
export function once(fits: (request: string) => boolean, spoil: Behaviour): Behaviour {
  let done = false;
  return (seen) => {
    if (done || !fits(`${seen.method} ${seen.path}`)) return seen.pass();
    done = true;
    return spoil(seen);
  };
}

/** The real API server answers. */
export const pass: Behaviour = (seen) => seen.pass();

/** A proxy's own error page, with an escape sequence that would clear a terminal. */
export function page(status: number): Behaviour {
  return ({ stream }) => {
    stream.respond({ ':status': status, 'content-type': 'text/html' });
    stream.end('<html><body><h1>Bad Gateway</h1>\u001b[2J\n</body></html>\n');
  };
}

/** Begins an answer as the API server does, then does something else. */
export function half(then: Behaviour): Behaviour {
  return (seen) => {
    seen.stream.respond({ ':status': 200, 'content-type': 'application/json' });
    seen.stream.write('{"kind":"Namespace","metadata":{"na');
    setTimeout(() => void then(seen), 20);
  };
}

/** The server executes the request, and its answer is lost. */
export async function lostAnswer(seen: Parameters<Behaviour>[0]): Promise<void> {
  seen.stream.respond = () => {
    sessionOf(seen.stream).destroy();
  };
  await seen.pass();
}

/** Sends GOAWAY (RFC 9113 6.8): no request of this connection is answered any more. */
export function goAway({ stream }: Parameters<Behaviour>[0]): void {
  sessionOf(stream).goaway(constants.NGHTTP2_NO_ERROR, 0);
  setTimeout(() => stream.close(constants.NGHTTP2_REFUSED_STREAM), 20);
}

/** An answer that never ends. */
export function endless({ stream }: Parameters<Behaviour>[0]): void {
  stream.respond({ ':status': 200, 'content-type': 'application/json' });
  const chunk = Buffer.alloc(256 * 1024, ' ');
  const more = (): void => {
    while (!stream.destroyed && stream.write(chunk));
  };
  stream.on('drain', more);
  more();
}
