import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { BerthError } from '../../../src/system/errors/berth-error.ts';
import { withIssuerBackoff } from '../../../src/portal/open-issuers.ts';
import type { HttpsClient, HttpsRequest } from '../../../src/system/https-request.ts';

const site = 'https://id.example.org/realms/site';
const tenant = 'https://id.example.org/realms/tenant';
const directory = mkdtempSync(join(tmpdir(), 'issuer-backoff-'));
afterAll(() => rmSync(directory, { recursive: true }));

/** What a server does with a request. A stand-in: no real server is silent on demand and quick to test. */
type Server = 'answers' | 'refuses' | 'never answers' | 'accepts no connection';

/** Whether a later request to `then` is skipped after one that the server treats so. */
async function isSkipped(
  server: Server,
  first: Pick<HttpsRequest, 'method' | 'url' | 'signal'>,
  then: string,
): Promise<boolean> {
  const ask: HttpsClient = async ({ onConnected }) => {
    if (server === 'answers') return { status: 200, json: {} };
    if (server === 'never answers') onConnected?.();
    if (server !== 'refuses') await sleep(1_050);
    throw new BerthError('issuer-timeout', 'no answer', { hint: '' });
  };
  const stateDir = mkdtempSync(join(directory, 'state-'));
  const backoff = { stateDir, issuers: [site, tenant], now: () => 1_000 };
  const client = withIssuerBackoff(ask, backoff);
  await client({ ...first, timeoutMs: 5_000 }).catch(() => undefined);
  return await client({ method: 'GET', url: then, timeoutMs: 5_000 }).then(
    () => false,
    (error: unknown) => error instanceof BerthError && error.code === 'issuer-skipped',
  );
}

const keys = (issuer: string) => ({ method: 'GET', url: `${issuer}/keys` }) as const;
const token = (issuer: string) => ({ method: 'POST', url: `${issuer}/token` }) as const;

describe.skipIf(process.geteuid?.() !== 0)(
  'an identity provider is skipped by the next login',
  () => {
    it.concurrent.each<[string, Server, Parameters<typeof isSkipped>[1], string]>([
      ['does not give its keys', 'never answers', keys(site), site],
      ['accepts no connection', 'accepts no connection', token(site), site],
    ])('if it %s', async (_what, server, first, then) => {
      expect(await isSkipped(server, first, `${then}/token`)).toBe(true);
    });

    it.concurrent.each<[string, Server, Parameters<typeof isSkipped>[1], string]>([
      ['it answers', 'answers', keys(site), site],
      ['it refuses the connection at once', 'refuses', keys(site), site],
      ['it is slow with the token of one user', 'never answers', token(site), site],
      ['another issuer on the same host is silent', 'never answers', keys(tenant), site],
      [
        'the time of this login is over',
        'never answers',
        { ...keys(site), signal: AbortSignal.abort() },
        site,
      ],
    ])('but not if %s', async (_what, server, first, then) => {
      expect(await isSkipped(server, first, `${then}/token`)).toBe(false);
    });
  },
);
