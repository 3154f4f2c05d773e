import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { ensureAccount } from '../../rig/site/accounts.ts';
import { openSite, type Feature, type Site } from '../../rig/site/site.ts';

let site: Site;
beforeAll(async () => {
  site = await openSite();
});

/** Skips a test that this site cannot run, with the site's reason. */
function unless(skip: TestContext['skip'], missing: Feature): void {
  const reason = site.skipReason(missing);
  skip(reason !== undefined, reason);
}

describe('the cluster believes tokens of the realm', () => {
  it('knows a user by a token that OnDemand exchanged for the cluster', async ({ skip }) => {
    unless(skip, 'oidc-authentication');
    const login = await site.keycloak.login('alice');
    const { accessToken } = await site.keycloak.exchange(login.accessToken);

    const { exitCode, stderr } = await site.kubectl(['get', 'pods'], { token: accessToken });

    expect(exitCode).toBe(1);
    expect(stderr).toContain('Forbidden');
    expect(stderr).toContain('User "oidc:alice" cannot list resource "pods"');
  });

  it('refuses the token that OnDemand got at the login, which is for OnDemand', async ({
    skip,
  }) => {
    unless(skip, 'oidc-authentication');
    const { accessToken } = await site.keycloak.login('alice');

    const { stderr } = await site.kubectl(['get', 'pods'], { token: accessToken });

    expect(stderr).toContain('You must be logged in to the server');
  });

  it('gives a refresh token that is good once', async () => {
    const login = await site.keycloak.login('bob', { client: 'kubernetes-public' });
    const refreshToken = login.refreshToken ?? '';
    const refreshed = await site.keycloak.refresh(refreshToken, 'kubernetes-public');

    expect(refreshed.refreshToken).not.toBe(refreshToken);
    await expect(site.keycloak.refresh(refreshToken, 'kubernetes-public')).rejects.toThrow(
      'invalid_grant',
    );
  });
});

describe('the audit log', () => {
  it('holds each request that was answered since the mark, and none before', async ({ skip }) => {
    unless(skip, 'audit');
    const [before, after] = [`/before-${randomUUID()}`, `/after-${randomUUID()}`];
    await site.kubectl(['get', '--raw', before]);
    const mark = await site.audit.mark();
    await site.kubectl(['get', '--raw', after]);
    const events = await site.audit.since(mark, { user: 'berth-test-admin' });

    const requests = events.map(({ verb, requestURI }) => `${verb} ${requestURI}`);
    expect(requests).toContain(`get ${after}`);
    expect(requests).not.toContain(`get ${before}`);
  });
});

describe('test accounts', () => {
  it('run kubectl with a home of their own, whatever their name', async ({ skip }) => {
    unless(skip, 'accounts');
    const { uid, home } = await ensureAccount('berth.test@x', { groups: ['berth-test'] });

    const { stdout } = await site.kubectl(['config', 'view'], {
      account: 'berth.test@x',
      kubeconfig: `${home}/none`,
    });

    expect(uid).toBeGreaterThanOrEqual(1000);
    expect(stdout).toContain('clusters: null');
  });

  it('are never taken over from somebody else', async ({ skip }) => {
    unless(skip, 'accounts');
    await expect(ensureAccount('daemon')).rejects.toThrow('not a test account of this site');
  });
});
