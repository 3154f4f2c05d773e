import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ensureAccount, type Account } from '../../../rig/site/accounts.ts';
import type { PortalTokens } from '../../../rig/site/portal.ts';
import { openSite, type Site } from '../../../rig/site/site.ts';
import { emptyHome, leftovers } from './homes.ts';
import { type FreshPortal, freshPortal, isAsWanted, removePortals } from './fresh-portal.ts';

/** As many hooks as OnDemand may start for the first requests of one browser. */
const hooks = 20;
const user = 'faults-many';

let site: Site;
let account: Account;
let portal: FreshPortal;
let tokens: PortalTokens;

beforeAll(async () => {
  site = await openSite();
  account = await ensureAccount(user);
  await site.keycloak.addUser(user);
  await emptyHome(account);
  portal = await freshPortal(site, { deadline: '30s', cluster: { auth: { type: 'oidc' } } });
  tokens = await portal.login(user);
});
afterAll(async () => {
  await removePortals(site);
  await emptyHome(account);
});

describe(`${hooks} hooks of one user at once, on the real API server`, () => {
  it.each(['first hooks', 'later hooks'])('%s', async () => {
    const results = await Promise.all(
      Array.from({ length: hooks }, () => portal.prePun(user, tokens)),
    );

    expect(results.filter(({ exitCode }) => exitCode !== 0)).toEqual([]);
    expect(results.filter(({ stderr }) => stderr.includes('level=error'))).toEqual([]);
    expect(await isAsWanted(portal, user)).toBe(true);

    const kubeconfig = parse(await readFile(join(account.home, '.kube/config'), 'utf8')) as Record<
      'users' | 'clusters' | 'contexts',
      readonly unknown[]
    >;
    expect(kubeconfig.users).toHaveLength(1);
    expect(kubeconfig.clusters).toHaveLength(1);
    expect(kubeconfig.contexts).toHaveLength(1);
    expect(await leftovers(account, portal)).toEqual([]);
  });

  it('leave a kubeconfig with which kubectl works', async () => {
    const { exitCode, stderr } = await site.kubectl(['get', 'pods'], {
      account: user,
      kubeconfig: join(account.home, '.kube/config'),
    });

    expect(stderr).toContain('No resources found');
    expect(exitCode).toBe(0);
  });
});
