import { existsSync } from 'node:fs';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { errorLines } from '../../rig/log-lines.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { TestUsers, type TestUser } from '../../rig/site/test-users.ts';
import { Portal } from '../../rig/site/portal.ts';
import { expiredClaims, type SiteOidcProvider } from '../../rig/site/site-oidc-provider.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { UserKubectl } from '../../rig/site/user-kubectl.ts';
import { startTrustedProvider } from '../../rig/site/trusted-provider.ts';

let site: Site;
let cluster: LiveCluster;
let newcomers: TestUsers;
let provider: SiteOidcProvider;
let portal: Portal;

beforeAll(async () => {
  site = await openSite();
  cluster = new LiveCluster(site);
  newcomers = new TestUsers(cluster);
  provider = await startTrustedProvider(site);
  portal = await Portal.make(site, {
    hookEnv: { IDP_ISSUER_URL: provider.issuer, CLIENT_ID: 'kubernetes' },
  });
});

afterEach(() => {
  provider.faults.claims = {};
});

afterAll(async () => {
  await provider.stopListening();
  await newcomers.removeNamespaces();
  await portal.remove();
});

/** Makes the hook's last request for keys a minute older: it asks at most once in ten seconds. */
async function aMinuteLater(): Promise<void> {
  const directory = join(portal.files.stateDir, 'issuers');
  const names = await readdir(directory);
  expect(names).not.toEqual([]);
  for (const name of names) {
    const file = join(directory, name);
    const record = JSON.parse(await readFile(file, 'utf8')) as { triedAt: number };
    const older = { ...record, triedAt: record.triedAt - 61 };
    await writeFile(file, JSON.stringify(older), { mode: 0o600 });
  }
}

async function come(name: string): Promise<{ person: TestUser; kubectl: UserKubectl }> {
  const person = await newcomers.create(name);
  return { person, kubectl: new UserKubectl(site, person) };
}

describe('a login whose ID token has expired', () => {
  it('works as long as its refresh token is valid, also after a new start of nginx', async () => {
    const { kubectl } = await come('md-late');
    provider.faults.claims = expiredClaims();
    const tokens = await provider.login('md-late');
    provider.faults.claims = {};

    for (let start = 0; start < 3; start += 1) {
      const { exitCode, stderr } = await portal.prePun('md-late', tokens);
      expect(exitCode, stderr).toBe(0);
      expect(await kubectl.whoami()).toBe('oidc:md-late');
    }

    await kubectl.expireToken();
    expect(await kubectl.whoami()).toBe('oidc:md-late');
  });

  it('gets the namespace but no credential without a refresh token', async () => {
    const { person, kubectl } = await come('md-over');
    provider.faults.claims = expiredClaims();
    const { idToken } = await provider.login('md-over');

    const { exitCode, stderr } = await portal.prePun('md-over', { idToken });

    expect(exitCode).not.toBe(0);
    expect(errorLines(stderr)).toMatchObject([{ code: 'token-expired', cluster: 'prod' }]);
    expect(await cluster.get('namespace', person.namespace)).toBeDefined();
    expect(existsSync(kubectl.kubeconfigFile)).toBe(false);
  });
});

describe('while the provider is down', () => {
  it('a valid token works; an expired one is renewed after the provider has started again', async () => {
    const { kubectl } = await come('md-down');
    const tokens = await provider.login('md-down');
    await provider.stopListening();
    try {
      const { exitCode, stderr } = await portal.prePun('md-down', tokens);
      expect(exitCode, stderr).toBe(0);
      expect(await kubectl.whoami()).toBe('oidc:md-down');

      await kubectl.expireToken();
      expect(await kubectl.whoami()).toMatch(/kube-credential: .*127\.0\.0\.1.* \[[a-z-]+\]\. /);
    } finally {
      await provider.listenAgain();
    }
    expect(await kubectl.whoami()).toBe('oidc:md-down');
  });
});

describe('a provider that accepts connections and does not answer', () => {
  it('delays one login in ten seconds, and is one line for the others', async () => {
    const { kubectl } = await come('md-mute');
    const tokens = await provider.login('md-mute');
    const fresh = await Portal.make(site, {
      hookEnv: { IDP_ISSUER_URL: provider.issuer, CLIENT_ID: 'kubernetes' },
    });
    const file = join(fresh.files.stateDir, 'issuer-backoff.json');
    const timed = async (): Promise<readonly [unknown, number]> => {
      const began = performance.now();
      const { stderr } = await fresh.prePun('md-mute', tokens);
      return [errorLines(stderr).map(({ code }) => code), performance.now() - began];
    };
    provider.faults.delayMs = 60_000;
    try {
      const [first, waited] = await timed();
      const [second, took] = await timed();
      expect([first, second]).toEqual([['issuer-timeout'], ['issuer-skipped']]);
      expect(waited).toBeGreaterThan(5_000);
      expect(took).toBeLessThan(2_000);
      const { mode, uid } = await stat(file);
      expect([mode & 0o777, uid]).toEqual([0o600, 0]);
    } finally {
      provider.faults.delayMs = 0;
    }
    const known = JSON.parse(await readFile(file, 'utf8')) as Record<string, number>;
    const older = Object.entries(known).map(([host, at]) => [host, at - 10]);
    await writeFile(file, JSON.stringify(Object.fromEntries(older)));

    expect((await timed())[0]).toEqual([]);

    expect(await kubectl.whoami()).toBe('oidc:md-mute');
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({});
    await fresh.remove();
  });
});

describe("the provider's new signing keys", () => {
  it('are fetched for a token with an unknown key', async () => {
    const { kubectl } = await come('md-keys');
    const old = await provider.login('md-keys');
    await provider.rotateKeys();
    await aMinuteLater();

    const { exitCode, stderr } = await portal.prePun('md-keys', await provider.login('md-keys'));

    expect(exitCode, stderr).toBe(0);
    expect(await kubectl.whoami()).toBe('oidc:md-keys');
    await aMinuteLater();
    // A token signed with the removed key is refused.
    const refused = await portal.prePun('md-keys', { idToken: old.idToken });
    expect(errorLines(refused.stderr)).toMatchObject([{ code: 'token-key-unknown' }]);
  });
});

describe('a token with many groups', () => {
  const groups = (count: number): string[] =>
    Array.from({ length: count }, (_, index) => `group-of-a-large-site-${index + 1_000_000}`);

  it('of 45 KB works, from the environment to the API server', async () => {
    const { kubectl } = await come('md-many');
    provider.faults.claims = { memberships: groups(1_050) };
    const tokens = await provider.login('md-many');
    expect(String(tokens.idToken).length).toBeGreaterThan(45_000);

    expect((await portal.prePun('md-many', tokens)).exitCode).toBe(0);
    expect(await kubectl.whoami()).toBe('oidc:md-many');
  });

  it('of more than 64 KiB is refused with its size, the limit, and what to do', async () => {
    await come('md-toomany');
    provider.faults.claims = { memberships: groups(2_000) };
    const { idToken } = await provider.login('md-toomany');

    const { stderr } = await portal.prePun('md-toomany', { idToken });

    const [error] = errorLines(stderr);
    expect(error).toMatchObject({
      code: 'token-too-large',
      msg: `the token has ${String(idToken).length} bytes; Berth accepts at most 65536`,
    });
    expect(error?.hint).toContain('only the groups that the cluster needs');
  });
});

describe('tokens of another user', () => {
  it.each([
    ['of another user', 'md-mallory', 'md-vic1'],
    ['of a user who was renamed', 'MD-VIC2', 'md-vic2'],
    ['of a user with a longer name', 'md-vic33', 'md-vic3'],
  ])('%s are refused by name; the namespace is created', async (_whose, whose, name) => {
    const { person, kubectl } = await come(name);

    const { exitCode, stderr } = await portal.prePun(name, await provider.login(whose));

    expect(exitCode).toBe(77);
    expect(errorLines(stderr)).toMatchObject([
      { code: 'token-of-another-user', user: name, cluster: 'prod' },
    ]);
    expect(await cluster.get('namespace', person.namespace)).toBeDefined();
    expect(existsSync(kubectl.kubeconfigFile)).toBe(false);
    await expect(kubectl.cache()).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
