import { execFile, spawn } from 'node:child_process';
import { createServer, get } from 'node:http';
import { connect } from 'node:http2';
import { once } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { stackLines, writeDebugLines } from '../../../../src/cli/kit/debug-output.ts';
import { shownUrl, shownWords } from '../../../../src/config/schema/hide-secrets.ts';

const lines: string[] = [];
writeDebugLines((line) => lines.push(line));
const written = (line: RegExp): Promise<void> =>
  vi.waitFor(() => expect(lines).toContainEqual(expect.stringMatching(line)));

describe('--debug', () => {
  it('writes a line for each program, without its secrets', async () => {
    execFile('true', ['--client-secret=hunter2', 'word']);
    await written(/^true --client-secret=\*\*\* word: exit status 0, \d+ ms$/);
    spawn('/none').on('error', () => undefined);
    await written(/^\/none: ENOENT, \d+ ms$/);
    const sleeping = spawn('sleep', ['60']);
    sleeping.kill('SIGTERM');
    await written(/^sleep 60: SIGTERM, \d+ ms$/);
  });

  it('writes a line for each request and failed connection, without headers', async () => {
    const server = createServer((_request, response) => {
      response.statusCode = 201;
      response.end('body');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const url = `http://127.0.0.1:${port}/api?limit=1&access_token=hunter2`;
    get(url, { headers: { authorization: 'Bearer hunter2' } }, (response) => response.resume());
    await written(/^GET http:\/\/127\.0\.0\.1:\d+\/api\?limit=1&access_token=\*\*\* 201, \d+ ms$/);
    await (await fetch(url)).text();
    await vi.waitFor(() => expect(lines.filter((line) => line.startsWith('GET '))).toHaveLength(2));
    server.close();
    server.closeAllConnections();

    connect(`http://127.0.0.1:${port}`).on('error', () => undefined);
    await written(/^connection to 127\.0\.0\.1 port \d+: ECONNREFUSED, \d+ ms$/);
    expect(lines.join('\n')).not.toContain('hunter2');
  });

  it('says where an error came from, without what a parser read', () => {
    let cause: unknown;
    try {
      JSON.parse('{"password": hunter2}');
    } catch (thrown) {
      cause = thrown;
    }
    const shown = stackLines(new Error('reading', { cause })).join('\n');
    expect(shown).toMatch(/^Error\n\s+at [^]*\nSyntaxError\n\s+at /);
    expect(shown).not.toContain('hunter2');
  });

  it.each([
    [
      ['get-token', '--oidc-client-secret', 'x', '-v'],
      ['get-token', '--oidc-client-secret', '***', '-v'],
    ],
    [
      ['--token-file=/etc/x', 'Bearer eyJhbGciOi.eyJzdWIi.c2ln'],
      ['--token-file=***', 'Bearer ***'],
    ],
    [
      ['--password', '--other', 'x'],
      ['--password', '--other', 'x'],
    ],
  ])('shows the words %j as %j', (words, shown) => {
    expect(shownWords(words)).toEqual(shown);
  });

  it('shows no password in a URL', () => {
    expect(shownUrl('https://u:p@host/x?code=1&y=2')).toBe('https://***@host/x?code=***&y=2');
  });

  it('are text for a program that ended with a status', () => {
    const cause = Object.assign(new Error('Command failed'), { code: 125 });
    expect(stackLines(new Error('podman', { cause }))).toContain('125');
  });
});
