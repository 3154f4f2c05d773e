import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { TestUsers, type TestUser } from '../../rig/site/test-users.ts';
import { type HookResult, Portal, type PortalTokens } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { modeAndOwner, UserKubectl } from '../../rig/site/user-kubectl.ts';

let site: Site;
let newcomers: TestUsers;
let portal: Portal;
let ann: TestUser;
let kubectl: UserKubectl;
let tokens: PortalTokens;
let login: HookResult;

beforeAll(async () => {
  site = await openSite();
  newcomers = new TestUsers(new LiveCluster(site));
  portal = await Portal.make(site);
  ann = await newcomers.create('md-ann');
  await site.keycloak.addUser(ann.name);
  kubectl = new UserKubectl(site, ann);
  tokens = await portal.login(ann.name);
  login = await portal.prePun(ann.name, tokens);
});

afterAll(async () => {
  await newcomers.removeNamespaces();
  await portal.remove();
});

describe('after a login with a public client, kubectl', () => {
  it('works in the user’s namespace without further settings', async () => {
    expect(login.exitCode, login.stderr).toBe(0);
    expect(await kubectl.whoami()).toBe('oidc:md-ann');
    expect(await kubectl.run('get', 'pods')).toMatchObject({
      exitCode: 0,
      stderr: 'No resources found in u-md-ann namespace.',
    });
  });

  it('has the plugin and no token in its kubeconfig', async () => {
    const text = await readFile(kubectl.kubeconfigFile, 'utf8');

    const { users } = await kubectl.kubeconfig();
    expect(users.map(({ name, user }) => [name, Object.keys(user)])).toEqual([
      ['md-ann', ['exec']],
    ]);
    for (const token of Object.values(tokens).map(String)) {
      if (token.length > 20) expect(text).not.toContain(token);
    }
    expect(text).not.toContain('eyJ');
  });

  it('has a kubeconfig and a token that no other user can read', async () => {
    const own = String(ann.uid);
    expect(await modeAndOwner(kubectl.kubeconfigFile)).toBe(`0600 ${own}`);
    expect(await modeAndOwner(kubectl.cacheFile())).toBe(`0600 ${own}`);
    expect(await modeAndOwner(dirname(kubectl.cacheFile()))).toBe(`0700 ${own}`);
  });

  it('is refused in other namespaces', async () => {
    const { exitCode, stderr } = await kubectl.run('get', 'pods', '-n', 'kube-system');
    expect(exitCode).toBe(1);
    expect(stderr).toContain('Forbidden');
  });
});

describe('after the token has expired', () => {
  it('kubectl renews it and stores the new refresh token', async () => {
    const before = await kubectl.cache();
    await kubectl.expireToken();

    expect(await kubectl.whoami()).toBe('oidc:md-ann');

    const after = await kubectl.cache();
    expect(after.expiry).toBeGreaterThan(Date.now() / 1000);
    expect(after.token).not.toBe(before.token);
    expect(after.refresh).toMatchObject({ by: 'plugin' });
    expect(after.refresh).not.toEqual(before.refresh);
    expect(await modeAndOwner(kubectl.cacheFile())).toBe(`0600 ${ann.uid}`);
  });

  it('a new start of nginx with the same tokens of the portal does not end the session', async () => {
    const { refresh } = await kubectl.cache();

    for (let start = 0; start < 2; start += 1) {
      expect((await portal.prePun(ann.name, tokens)).exitCode).toBe(0);
      // The portal's own refresh token was used above: its successor stays.
      expect((await kubectl.cache()).refresh).toEqual(refresh);
    }

    await kubectl.expireToken();
    expect(await kubectl.whoami()).toBe('oidc:md-ann');
  });

  it('kubectl says what to do when the session at the provider has ended, too', async () => {
    await site.keycloak.refresh(refreshTokenOf(await kubectl.cache()), 'kubernetes-public');
    await kubectl.expireToken();

    const { exitCode, stderr } = await kubectl.run('get', 'pods');

    expect(exitCode).toBe(1);
    expect(stderr).toMatch(
      /\[refresh-token-refused\].*Log out of the portal .* then choose Help > Restart Web Server/,
    );
  });

  it('kubectl works again after a new login to the portal', async () => {
    expect((await portal.prePun(ann.name, await portal.login(ann.name))).exitCode).toBe(0);
    expect(await kubectl.whoami()).toBe('oidc:md-ann');
    await kubectl.expireToken();
    expect(await kubectl.whoami()).toBe('oidc:md-ann');
  });
});

function refreshTokenOf({ refresh }: Awaited<ReturnType<UserKubectl['cache']>>): string {
  if (refresh?.by !== 'plugin') throw new Error('there is no refresh token in the cache');
  return refresh.refreshToken;
}
