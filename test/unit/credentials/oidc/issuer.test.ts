import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JWK } from 'jose';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Issuer, openIssuer } from '../../../../src/credentials/oidc/issuer.ts';
import { httpsRequest } from '../../../../src/system/https-request.ts';
import { processMark } from '../../../../src/system/temporary-name.ts';
import { signingKey, type SignedWith } from './signing-key.ts';
import { publicClient, LocalOidcProvider } from '../../../rig/local-oidc-provider.ts';

let provider: LocalOidcProvider;
let stateDir: string;
let clock = 0;

beforeAll(async () => {
  provider = await LocalOidcProvider.start();
});
afterAll(() => provider.stop());
beforeEach(async () => {
  stateDir = await mkdtemp(join(tmpdir(), 'berth-state-'));
  clock = Date.now() / 1000;
  provider.requests.length = 0;
});
afterEach(async () => {
  provider.intercept = undefined;
  await rm(stateDir, { recursive: true });
});

const open = (
  source: { issuer?: string; ca?: string | undefined; timeoutMs?: number } = {},
): Promise<Issuer> =>
  openIssuer(
    {
      issuer: source.issuer ?? provider.issuer,
      stateDir,
      ...('ca' in source ? source.ca !== undefined && { ca: source.ca } : { ca: provider.ca }),
    },
    { https: httpsRequest, now: () => clock, timeoutMs: source.timeoutMs ?? 20_000 },
  );

const expected = () => ({
  issuer: provider.issuer,
  audience: publicClient,
  kind: 'id' as const,
  usernameClaim: 'preferred_username',
  username: 'ann',
  clockSkewSeconds: 30,
  now: clock,
});

const discovery = '/.well-known/openid-configuration';
const down = () => ({ status: 503, type: 'text/plain', body: 'no' });

describe("an issuer's keys", () => {
  it('are fetched once; later logins do not ask the issuer', async () => {
    const { idToken } = await provider.login('ann', publicClient);
    await (await open()).verify(idToken, expected());
    expect(provider.requests).toEqual([`GET ${discovery}`, 'GET /jwks']);

    provider.intercept = down;
    const again = await open();
    await again.verify(idToken, expected());
    expect(again.tokenEndpoint).toBe(`${provider.issuer}/token`);
    expect(await again.renewed).toBeUndefined();
    expect(provider.requests).toHaveLength(2);
  });

  it('are stored in files that only root can read and write', async () => {
    await open();
    const [name] = await readdir(join(stateDir, 'issuers'));
    const file = await stat(join(stateDir, 'issuers', String(name)));
    const directory = await stat(join(stateDir, 'issuers'));
    expect([file.mode & 0o777, directory.mode & 0o777]).toEqual([0o600, 0o700]);
  });

  it('are fetched again when the file is truncated', async () => {
    await open();
    const [name] = await readdir(join(stateDir, 'issuers'));
    const file = join(stateDir, 'issuers', String(name));
    await writeFile(file, (await readFile(file, 'utf8')).slice(0, 40));
    await open();
    expect(provider.requests).toHaveLength(4);
  });

  it('are used when older than an hour, and fetched again meanwhile', async () => {
    const { idToken } = await provider.login('ann', publicClient);
    await open();
    clock += 3_700;
    const issuer = await open();
    await issuer.verify(idToken, { ...expected(), now: clock - 3_700 });
    expect(await issuer.renewed).toBeUndefined();
    expect(provider.requests).toHaveLength(4);
    await open();
    expect(provider.requests).toHaveLength(4);
  });

  it('are used while the provider is down, which is asked at most once in ten seconds', async () => {
    const { idToken } = await provider.login('ann', publicClient);
    await open();
    clock += 3_700;
    provider.intercept = down;
    for (let login = 0; login < 5; login += 1) {
      const issuer = await open();
      await issuer.verify(idToken, { ...expected(), now: clock - 3_700 });
      expect((await issuer.renewed)?.code).toBe(login === 0 ? 'issuer-unavailable' : undefined);
    }
    expect(provider.requests).toHaveLength(3);
  });

  it('are fetched again after the provider rotated them', async () => {
    await open();
    await provider.rotateKey('second');
    const { idToken } = await provider.login('ann', publicClient);
    clock += 61;
    await (await open()).verify(idToken, { ...expected(), now: clock - 61 });
    expect(provider.requests).toHaveLength(4);
  });

  it('are not fetched for each forged token with an unknown kid', async () => {
    const { idToken } = await provider.login('ann', publicClient);
    const forged = [
      Buffer.from(JSON.stringify({ alg: 'RS256', kid: 'forged' })).toString('base64url'),
      ...idToken.split('.').slice(1),
    ].join('.');
    await open();
    clock += 61;
    for (let login = 0; login < 10; login += 1) {
      const issuer = await open();
      await expect(issuer.verify(forged, expected())).rejects.toMatchObject({
        code: 'token-key-unknown',
      });
    }
    expect(provider.requests).toHaveLength(4);
  });

  it('are fetched again when a new one has the old kid, and the old one is refused from then on', async () => {
    await provider.rotateKey('first');
    const old = await provider.login('ann', publicClient);
    await open();
    await provider.rotateKey('second');
    const { idToken } = await provider.login('ann', publicClient);
    clock += 11;
    await (await open()).verify(idToken, expected());
    await provider.rotateKey('second');
    const replaced = await provider.login('ann', publicClient);
    clock += 11;
    await (await open()).verify(replaced.idToken, expected());
    expect(provider.requests).toHaveLength(6);
    for (const [token, code] of [
      [idToken, 'token-signature'],
      [old.idToken, 'token-key-unknown'],
    ] as const)
      await expect((await open()).verify(token, expected())).rejects.toMatchObject({ code });
    expect(provider.requests).toHaveLength(6);
  });

  it.each<[string, SignedWith, SignedWith]>([
    ['has no kid', {}, {}],
    ['has the kid of a key for another algorithm', { kid: 'a', alg: 'RS256' }, { kid: 'a' }],
    ['has no kid, and the old key was of another type', { alg: 'RS256' }, {}],
    ['has no kid, and other keys are for encryption', { kid: 'a' }, { use: 'enc' }],
  ])('are fetched again for a token that %s', async (_, before, after) => {
    const [old, key, encrypting] = [
      await signingKey(before),
      await signingKey(after),
      await signingKey({}),
    ];
    publish(old.jwk);
    await open();
    publish({ ...encrypting.jwk, use: 'enc' }, { ...key.jwk, use: 'sig' });
    clock += 11;
    await (await open()).verify(await key.token(provider.issuer, clock), expected());
    expect(provider.requests).toHaveLength(4);
    const former = await old.token(provider.issuer, clock);
    await expect((await open()).verify(former, expected())).rejects.toThrow(/key|signa/);
    expect(provider.requests).toHaveLength(4);
  });

  it('are fetched once for logins at the same time, which all get the new ones', async () => {
    await open();
    await provider.rotateKey('first');
    const { idToken } = await provider.login('ann', publicClient);
    const forged = `${idToken.slice(0, -40)}${'A'.repeat(40)}`;
    clock += 11;
    const logins = await Promise.all(Array.from({ length: 20 }, () => open()));
    const results = await Promise.allSettled(
      logins.map((login, at) => login.verify(at % 2 === 0 ? forged : idToken, expected())),
    );
    expect(results.map(({ status }) => status)).toEqual(
      logins.map((_, at) => (at % 2 === 0 ? 'rejected' : 'fulfilled')),
    );
    expect(provider.requests).toHaveLength(4);
    expect((await readdir(join(stateDir, 'issuers'))).length).toBe(1);
  });

  it('are fetched by the next login when the one that fetched them was killed', async () => {
    await open();
    const [name] = await readdir(join(stateDir, 'issuers'));
    const mark = processMark().replace(/[0-9]+$/, '999999999');
    const dead = `berth:${mark}:1:${'0'.repeat(12)}:here`;
    await symlink(dead, join(stateDir, 'issuers', `${name}.lock`));
    await provider.rotateKey('first');
    const { idToken } = await provider.login('ann', publicClient);
    clock += 11;
    await (await open()).verify(idToken, expected());
  });

  it('are not fetched for tokens that no key could make valid', async () => {
    const { idToken } = await provider.login('ann', publicClient);
    await open();
    clock += 11;
    const [, payload, signature] = idToken.split('.');
    const other = Buffer.from('{"iss":"https://evil.example"}').toString('base64url');
    for (const [alg, body] of [
      ['none', payload],
      ['HS256', payload],
      ['RS256', other],
    ]) {
      const header = Buffer.from(JSON.stringify({ alg, kid: 'first' })).toString('base64url');
      const token = `${header}.${body}.${signature}`;
      await expect((await open()).verify(token, expected())).rejects.toThrow();
    }
    expect(provider.requests).toHaveLength(2);
  });
});

function publish(...keys: JWK[]): void {
  provider.intercept = (path) =>
    path === '/jwks' ? { status: 200, body: JSON.stringify({ keys }) } : undefined;
}

describe('an issuer', () => {
  const json = (body: object) => ({ status: 200, body: JSON.stringify(body) });

  it.each<
    [string, () => NonNullable<ReturnType<NonNullable<LocalOidcProvider['intercept']>>>, string]
  >([
    ['publishes another issuer', () => json({ issuer: 'https://evil.example' }), 'issuer-mismatch'],
    [
      'has a token endpoint without TLS',
      () => json({ issuer: provider.issuer, token_endpoint: 'http://x/', jwks_uri: 'https://x/' }),
      'issuer-answer-invalid',
    ],
    [
      'has keys without TLS',
      () => json({ issuer: provider.issuer, token_endpoint: 'https://x/', jwks_uri: 'file:///x' }),
      'issuer-answer-invalid',
    ],
    ['answers 404', () => ({ status: 404, body: '{}' }), 'issuer-answer-invalid'],
    ['answers 500', down, 'issuer-unavailable'],
    [
      'answers with a web page',
      () => ({ status: 200, type: 'text/html', body: '<p>' }),
      'issuer-answer-invalid',
    ],
    [
      'answers with truncated JSON',
      () => ({ status: 200, body: '{"issuer":' }),
      'issuer-answer-invalid',
    ],
    ['answers with a list', () => ({ status: 200, body: '[]' }), 'issuer-answer-invalid'],
    [
      'sends more than 512 KiB',
      () => {
        const endpoints = {
          token_endpoint: `${provider.issuer}/token`,
          jwks_uri: `${provider.issuer}/jwks`,
        };
        const body = JSON.stringify({ issuer: provider.issuer, ...endpoints }).padEnd(600_000);
        return { status: 200, body };
      },
      'issuer-answer-invalid',
    ],
  ])('is refused when it %s', async (_, answer, code) => {
    provider.intercept = (path) => (path === discovery ? answer() : undefined);
    await expect(open()).rejects.toMatchObject({ code });
    expect(await readdir(stateDir)).toEqual([]);
  });

  it('is reported when it does not answer in time', async () => {
    provider.intercept = (path) => (path === discovery ? 'hang' : undefined);
    await expect(open({ timeoutMs: 200 })).rejects.toMatchObject({ code: 'issuer-timeout' });
    expect(await readdir(stateDir)).toEqual([]);
  });

  it('is refused when it has no public keys', async () => {
    const secrets = { keys: [{ kty: 'oct', k: 'AAAA' }, null, 'x', { kty: 'RSA', use: 'enc' }] };
    provider.intercept = (path) => (path === '/jwks' ? json(secrets) : undefined);
    await expect(open()).rejects.toMatchObject({ code: 'issuer-no-keys' });
  });

  it('is refused when no trusted authority signed its certificate', async () => {
    await expect(open({ ca: undefined })).rejects.toMatchObject({ code: 'issuer-certificate' });
  });

  it('is refused without TLS', async () => {
    const issuer = 'http://127.0.0.1:1/realm';
    await expect(open({ issuer })).rejects.toMatchObject({ code: 'issuer-url-not-https' });
  });

  it('is reported when the connection is refused', async () => {
    const issuer = 'https://127.0.0.1:1';
    await expect(open({ issuer })).rejects.toMatchObject({ code: 'issuer-unreachable' });
  });
});
