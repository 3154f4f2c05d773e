import { subscribe } from 'node:diagnostics_channel';
import { errorMonitor } from 'node:events';
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2';
import type { Socket } from 'node:net';
import { shownUrl, shownWords } from '../../config/schema/hide-secrets.ts';
import type { ChildProcess } from '../../system/run-program.ts';

/**
 * Writes a line for each request, failed connection and started program of this process, when it ends. Node reports them on
 * its diagnostics channels: nothing below needs to know. No header and no body is written, and no output of a program.
 */
export function writeDebugLines(write: (line: string) => void): void {
  const timed = (): (() => string) => {
    const started = performance.now();
    return () => `${Math.round(performance.now() - started)} ms`;
  };
  const began = new WeakMap<object, { readonly what: string; readonly took: () => string }>();
  const begin = (request: object, method: string, url: string): void => {
    began.set(request, { what: `${method} ${shownUrl(url)}`, took: timed() });
  };
  const end = (request: object, result: string | number): void => {
    const known = began.get(request);
    if (known === undefined) return;
    began.delete(request);
    write(`${known.what} ${result}, ${known.took()}`);
  };
  const on = (channel: string, listener: (message: never) => void): void =>
    subscribe(channel, listener as (message: unknown) => void);

  on('http.client.request.start', ({ request }: { request: ClientRequest }) => {
    const url = `${request.protocol}//${String(request.getHeader('host'))}${request.path}`;
    begin(request, request.method, url);
  });
  on(
    'http.client.response.finish',
    ({ request, response }: { request: ClientRequest; response: IncomingMessage }) =>
      end(request, response.statusCode ?? ''),
  );
  on('http.client.request.error', ({ request, error }: { request: ClientRequest; error: Error }) =>
    end(request, nameOf(error)),
  );

  on(
    'http2.client.stream.created',
    ({ stream, headers }: { stream: ClientHttp2Stream; headers: IncomingHttpHeaders }) => {
      const { ':method': method = '', ':authority': host = '', ':path': path = '' } = headers;
      begin(stream, method, `https://${host}${path}`);
    },
  );
  on(
    'http2.client.stream.finish',
    ({ stream, headers }: { stream: ClientHttp2Stream; headers: IncomingHttpHeaders }) =>
      end(stream, String(headers[':status'])),
  );
  on('http2.client.stream.close', ({ stream }: { stream: ClientHttp2Stream }) =>
    end(stream, 'no answer'),
  );

  interface Fetched {
    readonly request: { readonly origin: string; readonly path: string; readonly method: string };
  }
  on('undici:request:create', ({ request }: Fetched) =>
    begin(request, request.method, `${request.origin}${request.path}`),
  );
  on(
    'undici:request:headers',
    ({ request, response }: Fetched & { response: { statusCode: number } }) =>
      end(request, response.statusCode),
  );
  on('undici:request:error', ({ request, error }: Fetched & { error: Error }) =>
    end(request, nameOf(error)),
  );

  on('net.client.socket', ({ socket }: { socket: Socket }) => {
    const took = timed();
    socket.on('connectionAttemptFailed', (address: string, port: number, _family, error: Error) =>
      write(`connection to ${address} port ${port}: ${nameOf(error)}, ${took()}`),
    );
  });

  on('child_process', ({ process: child }: { process: ChildProcess }) => {
    const took = timed();
    const words = (): string => shownWords(child.spawnargs).join(' ');
    // A listener of `error` itself would hide it from the others.
    child.once(errorMonitor as unknown as 'error', (error: Error) =>
      write(`${words()}: ${nameOf(error)}, ${took()}`),
    );
    child.once('exit', (code, signal) =>
      write(`${words()}: ${signal ?? `exit status ${code}`}, ${took()}`),
    );
  });
}

/**
 * Where an error and its causes came from, as lines. Their messages are left out: that of a parser, for example, has a part
 * of the text.
 */
export function stackLines(error: unknown): string[] {
  if (!(error instanceof Error)) return [];
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  return [nameOf(error), ...frames, ...stackLines(error.cause)];
}

function nameOf(error: Error): string {
  // A number for a program's exit status.
  const { code } = error as { readonly code?: string | number };
  return code === undefined ? error.name : String(code);
}
