import { describe, expect, it } from 'vitest';
import {
  assertUpgraded,
  execPath,
  upgradeRequest,
} from '../../../../../src/sessions/exec/protocol/upgrade.ts';
import { parseResponseHead, completeBody } from '../../../../../src/sessions/exec/websocket.ts';

const target = { namespace: 'user-alice', pod: 'berth-login', argv: ['true'], tty: false };
const url = new URL('https://api.example.org:6443');
/** The example of RFC 6455, 1.3. */
const key = 'dGhlIHNhbXBsZSBub25jZQ==';

function answer(...headers: string[]) {
  const lines = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', ...headers, '', ''];
  return parseResponseHead(Buffer.from(lines.join('\r\n')))?.headers ?? new Map<string, string>();
}

describe('execPath', () => {
  it('says each word of the command, whatever it holds', () => {
    const argv = ['sh', '-c', 'echo "a&b=c" +%41\n\u00e9'];
    const query = new URL(execPath(url, { ...target, argv }), url).searchParams;
    expect(query.getAll('command')).toEqual(argv);
    expect([query.get('stdin'), query.get('stdout'), query.get('stderr')]).toEqual(
      Array<string>(3).fill('true'),
    );
    expect(query.has('tty')).toBe(false);
  });

  it('does not request standard error with a terminal, because the API server refuses both', () => {
    const query = new URL(execPath(url, { ...target, tty: true }), url).searchParams;
    expect([query.get('tty'), query.has('stderr')]).toEqual(['true', false]);
  });

  it('stands below the path of the server, as behind a proxy', () => {
    const base = new URL('https://rancher.example.org/k8s/clusters/c-1/');
    expect(execPath(base, { ...target, container: 'main' })).toBe(
      '/k8s/clusters/c-1/api/v1/namespaces/user-alice/pods/berth-login/exec?command=true&container=main&stdin=true&stdout=true&stderr=true',
    );
  });

  it('refuses bytes that Kubernetes can not hand on', () => {
    expect(() => execPath(url, { ...target, argv: ['\udc80'] })).toThrow(
      expect.objectContaining({ code: 'exec-not-utf8' }),
    );
  });
});

it('the request says who asks and what we speak', () => {
  const lines = upgradeRequest({ url, target, key, token: 'secret' }).split('\r\n');
  expect(lines).toContain('Authorization: Bearer secret');
  expect(lines).toContain('Sec-WebSocket-Protocol: v5.channel.k8s.io');
  expect(lines.slice(-2)).toEqual(['', '']);
});

describe('assertUpgraded', () => {
  const accept = 'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=';
  const v5 = 'Sec-WebSocket-Protocol: v5.channel.k8s.io';

  it('takes a server that chose what was offered', () => {
    expect(() => assertUpgraded(answer(accept, v5), key)).not.toThrow();
  });

  it.each([
    ['answers another key', [v5, 'Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=']],
    ['answers no key', [v5]],
    ['chooses nothing', [accept]],
    ['chooses what was not offered', [accept, 'Sec-WebSocket-Protocol: v4.channel.k8s.io']],
    ['adds an extension', [accept, v5, 'Sec-WebSocket-Extensions: permessage-deflate']],
  ])('refuses a server that %s', (_what, headers) => {
    expect(() => assertUpgraded(answer(...headers), key)).toThrow(
      expect.objectContaining({ code: 'exec-protocol' }),
    );
  });
});

describe('the head of an answer', () => {
  it('is incomplete before its empty line', () => {
    expect(parseResponseHead(Buffer.from('HTTP/1.1 101 Switching\r\nA: b\r\n'))).toBe(undefined);
  });

  it('is not a web page, nor endless', () => {
    expect(() => parseResponseHead(Buffer.from('<html>\r\n\r\n'))).toThrow();
    expect(() => parseResponseHead(Buffer.alloc(70_000, 'a'))).toThrow();
  });

  it('tells how much of a refusal is to come', () => {
    const head = parseResponseHead(
      Buffer.from('HTTP/1.1 403 Forbidden\r\nContent-Length: 5\r\n\r\n'),
    );
    if (head === undefined) throw new Error('no head');
    expect(completeBody(head, Buffer.from('four'))).toBe(undefined);
    expect(completeBody(head, Buffer.from('fives'))).toBe('fives');
  });

  it('reads a refusal in chunks', () => {
    const head = parseResponseHead(
      Buffer.from('HTTP/1.1 500 X\r\nTransfer-Encoding: chunked\r\n\r\n'),
    );
    if (head === undefined) throw new Error('no head');
    expect(completeBody(head, Buffer.from('2\r\n{}\r\n'))).toBe(undefined);
    expect(completeBody(head, Buffer.from('2\r\n{}\r\n0\r\n\r\n'))).toBe('{}');
  });
});
