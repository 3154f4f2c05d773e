import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createSecureServer, type Http2SecureServer, type Http2ServerResponse } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { watchObject } from '../../../src/kube/watch-object.ts';

/** A server of our own: a real one cannot be made to refuse, or to be cut in the middle of a line. */
describe.each(['HTTP/2', 'HTTP/1.1'])('a watch over %s', (version) => {
  let directory: string;
  let pem: { readonly key: string; readonly cert: string };
  let server: Http2SecureServer;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'berth-watch-'));
    const [key, cert] = [join(directory, 'key'), join(directory, 'cert')];
    execFileSync(
      'openssl',
      [
        ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert],
        ...['-days', '2', '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'],
      ],
      { stdio: 'ignore' },
    );
    pem = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  });
  afterAll(() => rmSync(directory, { recursive: true }));
  afterEach(() => void server.close());

  /** @param object answers the request for the object itself; without it, the watch starts at version 7 */
  async function watched(
    answer: (response: Http2ServerResponse) => void,
    object?: (response: Http2ServerResponse) => void,
  ): Promise<string[]> {
    const alpn = version === 'HTTP/2' ? ['h2'] : ['http/1.1'];
    server = createSecureServer(
      { ...pem, allowHTTP1: true, ALPNProtocols: alpn },
      (request, response) => {
        expect(request.headers.authorization).toBe('Bearer t');
        if (request.url === '/base/pods/p') return object?.(response);
        const query = 'watch=1&fieldSelector=metadata.name%3Dp&resourceVersion=7';
        expect(request.url).toBe(`/base/pods?${query}`);
        answer(response);
      },
    );
    await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
    const url = `https://localhost:${(server.address() as AddressInfo).port}/base`;
    const types: string[] = [];
    const signal = AbortSignal.timeout(5_000);
    const since = object === undefined ? '7' : undefined;
    const api = { url, ca: pem.cert, token: 't' };
    const events = watchObject(api, '/pods', 'p', { signal, since });
    for await (const { type, object } of events) types.push(`${type} ${String(object.n)}`);
    return types;
  }

  it('yields each event, however the lines are split, until the server ends it', async () => {
    const events = watched((response) => {
      response.write('{"type":"ADDED","object":{"n":1}}\n{"type":"MODI');
      setTimeout(() => {
        response.write('FIED","object":{"n":2}}\n');
        response.end();
      }, 20);
    });
    expect(await events).toEqual(['ADDED 1', 'MODIFIED 2']);
  });

  it('begins with the object as it is, and continues from its version', async () => {
    const events = watched(
      (response) => void response.end('{"type":"MODIFIED","object":{"n":2}}\n'),
      (response) => void response.end('{"n":1,"metadata":{"resourceVersion":"7"}}'),
    );
    expect(await events).toEqual(['ADDED 1', 'MODIFIED 2']);
  });

  it('says that there is no object, and does not wait for one', async () => {
    const events = watched(
      () => expect.unreachable(),
      (response) => {
        response.writeHead(404);
        response.end('{"kind":"Status","reason":"NotFound"}');
      },
    );
    expect(await events).toEqual(['DELETED undefined']);
  });

  it('ends without an error when its version is too old', async () => {
    const events = watched((response) => {
      response.writeHead(410);
      response.end('{"kind":"Status","reason":"Expired"}');
    });
    expect(await events).toEqual([]);
  });

  it('ends without an error when the connection is lost', async () => {
    const events = watched((response) => {
      response.write('{"type":"ADDED","object":{"n":1}}\n{"type":"MODI');
      const connection = version === 'HTTP/2' ? response.stream.session : response.socket;
      setTimeout(() => void connection?.destroy(), 20);
    });
    expect(await events).toEqual(['ADDED 1']);
  });

  it.each([
    [403, 'api-watch-refused'],
    [429, 'api-overloaded'],
    [503, 'api-overloaded'],
  ])('is refused with status %i: %s', async (status, code) => {
    let requests = 0;
    const events = watched((response) => {
      requests += 1;
      response.writeHead(status, { 'retry-after': '0' });
      response.end('{"kind":"Status","message":"no"}\n');
    });
    await expect(events).rejects.toMatchObject({ code });
    expect(requests).toBe(1);
  });
});
