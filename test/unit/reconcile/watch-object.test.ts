import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createSecureServer, type Http2SecureServer, type Http2ServerResponse } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { watchObject } from '../../../src/reconcile/watch-object.ts';

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

  async function watched(answer: (response: Http2ServerResponse) => void): Promise<string[]> {
    const alpn = version === 'HTTP/2' ? ['h2'] : ['http/1.1'];
    server = createSecureServer(
      { ...pem, allowHTTP1: true, ALPNProtocols: alpn },
      (request, response) => {
        expect(request.url).toBe('/base/pods?watch=1&fieldSelector=metadata.name%3Dp');
        expect(request.headers.authorization).toBe('Bearer t');
        answer(response);
      },
    );
    await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
    const url = `https://localhost:${(server.address() as AddressInfo).port}/base`;
    const types: string[] = [];
    const signal = AbortSignal.timeout(5_000);
    const events = watchObject({ url, ca: pem.cert, token: 't' }, '/pods', 'p', signal);
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
