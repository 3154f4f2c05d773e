import { execFile, spawn } from 'node:child_process';
import {
  chmod,
  link,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  type CredentialCache,
  credentialCachePath,
} from '../../../src/credentials/credential-cache.ts';
import { repetitions } from '../../rig/soak.ts';
import { compileEntryPoint } from '../../rig/compile-entry-point.ts';
import { publicClient, LocalOidcProvider } from '../../rig/local-oidc-provider.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const server = 'https://k8s.example.org:6443';
let provider: LocalOidcProvider;
let directory: string;
let plugin: string;
let home: string;

beforeAll(async () => {
  provider = await LocalOidcProvider.start();
  directory = await mkdtemp(join(tmpdir(), 'berth-plugin-'));
  plugin = await compileEntryPoint('shell/kube-credential.ts', directory);
});
afterAll(async () => {
  await provider.stop();
  await rm(directory, { recursive: true });
});
beforeEach(async () => {
  home = await mkdtemp(join(directory, 'home-'));
  provider.requests.length = 0;
});
afterEach(() => {
  provider.intercept = undefined;
});

type Run = Record<'stdout' | 'stderr', string> & { status: number };

const execInfo = (spec: object = { cluster: { server }, interactive: false }): string =>
  JSON.stringify({ kind: 'ExecCredential', apiVersion: 'client.authentication.k8s.io/v1', spec });

const environment = (info: string | null): NodeJS.ProcessEnv => ({
  HOME: home,
  ...(info !== null && { KUBERNETES_EXEC_INFO: info }),
});

/** As client-go runs it. */
function run(args: string[] = [], info: string | null = execInfo()): Promise<Run> {
  return new Promise((resolve) => {
    const child = execFile(plugin, args, { env: environment(info) }, (_, stdout, stderr) =>
      resolve({ status: child.exitCode ?? -1, stdout, stderr }),
    );
  });
}

const answer = (result: Run): { token: string; expirationTimestamp: string } => {
  expect(result).toMatchObject({ status: 0, stderr: '' });
  const credential = JSON.parse(result.stdout) as Record<string, unknown>;
  expect(credential).toMatchObject({
    apiVersion: 'client.authentication.k8s.io/v1',
    kind: 'ExecCredential',
  });
  return credential.status as { token: string; expirationTimestamp: string };
};

const now = (): number => Math.floor(Date.now() / 1000);
const cacheFile = (of = server): string => join(home, credentialCachePath(of));

async function given(change: Partial<CredentialCache> = {}, of = server): Promise<CredentialCache> {
  const cache: CredentialCache = {
    version: 1,
    cluster: 'test',
    server: of,
    token: 'a.b.c',
    expiry: now() + 300,
    ...change,
  };
  await mkdir(dirname(cacheFile(of)), { recursive: true });
  await writeFile(cacheFile(of), JSON.stringify(cache), { mode: 0o600 });
  return cache;
}

/** A credential of a public client with an expired token. */
async function givenExpired(change: Partial<CredentialCache> = {}): Promise<string> {
  const { refreshToken } = await provider.login('ann', publicClient);
  await given({
    expiry: now() - 1,
    refresh: {
      by: 'plugin',
      tokenEndpoint: `${provider.issuer}/token`,
      clientId: publicClient,
      refreshToken,
      token: 'id',
      ca: provider.ca,
      origin: 'x',
    },
    ...change,
  });
  return refreshToken;
}

const stored = async (): Promise<CredentialCache> =>
  JSON.parse(await readFile(cacheFile(), 'utf8')) as CredentialCache;

const down = () => ({ status: 503, type: 'text/plain', body: 'no' });

describe('kube-credential, run by kubectl', () => {
  it('returns the token, with an expiry shortly before the token’s own', async () => {
    const { expiry } = await given();
    expect(answer(await run())).toEqual({
      token: 'a.b.c',
      expirationTimestamp: new Date((expiry - 15) * 1000).toISOString(),
    });
    expect(provider.requests).toEqual([]);
  });

  it('returns the token of the right cluster, in whatever notation its URL is', async () => {
    await given({ token: 'one' });
    await given({ token: 'two', cluster: 'other' }, 'https://other.example.org');
    const ask = async (of: string) => answer(await run([], execInfo({ cluster: { server: of } })));
    expect((await ask('https://K8S.example.org:6443/')).token).toBe('one');
    expect((await ask('https://other.example.org:443')).token).toBe('two');
    expect(answer(await run(['--cluster', 'other'], execInfo({}))).token).toBe('two');
  });

  it.each<[string, () => Promise<unknown>, string]>([
    ['nobody has logged in', () => Promise.resolve(), 'credential-missing'],
    ['the file is of another server', () => given({ server: 'https://x' }), 'credential-missing'],
    [
      'others can read it',
      async () => (await given(), chmod(cacheFile(), 0o640)),
      'private-file-unsafe',
    ],
    [
      'it is a symlink',
      async () => {
        await given();
        await link(cacheFile(), join(home, 'other'));
        await rm(cacheFile());
        await symlink(join(home, 'other'), cacheFile());
      },
      'private-file-unreadable',
    ],
    ['it is a directory', () => mkdir(cacheFile(), { recursive: true }), 'private-file-unsafe'],
    [
      'it is half a file',
      async () => (await given(), writeFile(cacheFile(), '{"vers')),
      'credential-cache-invalid',
    ],
    [
      'it is a list',
      async () => (await given(), writeFile(cacheFile(), '[]')),
      'credential-cache-invalid',
    ],
    [
      'it is null',
      async () => (await given(), writeFile(cacheFile(), 'null')),
      'credential-cache-invalid',
    ],
    ['a token with a line break', () => given({ token: 'a\r\nb' }), 'credential-cache-invalid'],
    ['it is huge', () => given({ token: 'a'.repeat(300_000) }), 'private-file-too-large'],
    [
      'it has ended and cannot be renewed',
      () => given({ expiry: now() - 1 }),
      'credential-expired',
    ],
  ])('and hears in one line what to do when %s', async (_, prepare, code) => {
    await prepare();
    const { status, stdout, stderr } = await run();
    expect([status > 0, stdout]).toEqual([true, '']);
    expect(stderr).toContain(`[${code}]`);
    expect(stderr.match(/\n/g)).toHaveLength(1);
  });

  it('refuses a call by hand, and escapes control characters', async () => {
    expect(await run([], null)).toMatchObject({ status: 64 });
    expect(await run([], '{')).toMatchObject({ status: 64 });
    expect(await run(['--verbose'])).toMatchObject({ status: 64 });
    const { stderr } = await run([], execInfo({ cluster: { server: 'https://\u001b[2J\nx' } }));
    expect(stderr).toMatch(/^[\x20-\x7e’]+\n$/);
  });
});

describe('after the token has expired', () => {
  it('stores the new token and the next refresh token before it answers', async () => {
    const refreshToken = await givenExpired();
    const { token, expirationTimestamp } = answer(await run());
    expect(token.split('.')).toHaveLength(3);
    expect(Date.parse(expirationTimestamp)).toBeGreaterThan(Date.now() + 250_000);
    const cache = await stored();
    expect(cache.token).toBe(token);
    expect(cache.refresh).not.toMatchObject({ refreshToken });
    expect(answer(await run()).token).toBe(token);
    expect(provider.requests).toEqual(['POST /token']);
    expect(await readdir(dirname(cacheFile()))).toHaveLength(1);
  });

  it('makes one request for twenty processes at once (single-use refresh tokens)', async () => {
    for (let round = 0; round < repetitions(1, 3); round += 1) {
      await givenExpired();
      provider.requests.length = 0;
      const results = await Promise.all(Array.from({ length: 20 }, () => run()));
      const tokens = new Set(results.map((result) => answer(result).token));
      expect(tokens.size).toBe(1);
      expect(provider.requests).toEqual(['POST /token']);
    }
  });

  it('uses the new token although the provider has rotated its key', async () => {
    await givenExpired();
    answer(await run());
    await provider.rotateKey('other').then(async () => answer(await run()));
  });

  it('uses the old token’s last seconds if the provider is down', async () => {
    await givenExpired({ expiry: now() + 8 });
    provider.intercept = down;
    const { token, expirationTimestamp } = answer(await run());
    expect([token, Date.parse(expirationTimestamp) > Date.now()]).toEqual(['a.b.c', true]);
  });

  it('reports that the provider is down; twenty processes at once ask it once', async () => {
    await givenExpired();
    provider.intercept = down;
    const results = await Promise.all(Array.from({ length: 20 }, () => run()));
    for (const { status, stdout, stderr } of results) {
      expect({ status, stdout }).toEqual({ status: 75, stdout: '' });
      expect(stderr).toContain('[issuer-unavailable]');
    }
    expect(provider.requests.length).toBeLessThan(20);
    provider.intercept = undefined;
    answer(await run());
  });

  it('tells the user to log in again if the session has ended, without the user’s name', async () => {
    const refreshToken = await givenExpired();
    provider.intercept = () => ({
      status: 400,
      body: JSON.stringify({
        error: 'invalid_grant',
        error_description: `\u001b[31mSession not active: ${refreshToken}`,
      }),
    });
    const { status, stderr } = await run();
    expect(status).toBe(77);
    expect(stderr).toContain('[refresh-token-refused]');
    expect(stderr).toMatch(/Log out of the portal .* then choose Help > Restart Web Server/);
    expect(stderr).not.toContain(refreshToken);
    expect(stderr).toMatch(/^[\x20-\x7e’]+\n$/);
  });

  it('takes over from a process that was killed while it renewed', async () => {
    await givenExpired();
    provider.intercept = () => 'hang';
    const victim = spawn(plugin, [], { env: environment(execInfo()), stdio: 'ignore' });
    while (provider.requests.length === 0) await sleep(10);
    victim.kill('SIGKILL');
    provider.intercept = undefined;
    const results = await Promise.all(Array.from({ length: 8 }, () => run()));
    expect(new Set(results.map((result) => answer(result).token)).size).toBe(1);
    expect(provider.requests).toEqual(['POST /token', 'POST /token']);
  });

  it('still works after many processes were killed at random moments', async () => {
    let lost = 0;
    for (let round = 0; round < repetitions(5, 50); round += 1) {
      await givenExpired();
      const begin = () => spawn(plugin, [], { env: environment(execInfo()), stdio: 'ignore' });
      const victims = [begin(), begin(), begin()];
      await sleep(40 + ((round * 35) % 125));
      for (const victim of victims) victim.kill('SIGKILL');
      const result = await run();
      // A process that is killed between the provider's answer and its write has used a single-use token,
      // and only a new session helps. In all other cases it must work.
      if (result.stderr.includes('[refresh-token-refused]')) lost += 1;
      else answer(result);
    }
    expect(lost).toBeLessThan(repetitions(4, 18));
  });

  it('waits for the lock of another host instead of breaking it', async () => {
    await givenExpired({ expiry: now() - 1 });
    const owner = {
      host: `not-${hostname()}`,
      world: 'x',
      pid: 1,
      start: '1',
      nonce: 'a'.repeat(18),
    };
    await writeFile(`${cacheFile()}.lock`, JSON.stringify(owner));
    const child = run();
    await sleep(400);
    expect(provider.requests).toEqual([]);
    await rm(`${cacheFile()}.lock`);
    answer(await child);
  });
});
