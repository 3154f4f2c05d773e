import { afterAll, beforeAll, beforeEach } from 'vitest';
import { ensureAccount, type Account } from '../../../rig/site/accounts.ts';
import type { PortalTokens } from '../../../rig/site/portal.ts';
import { openSite, type Site } from '../../../rig/site/site.ts';
import { emptyHome } from './homes.ts';
import { type FreshPortal, freshPortal, removePortals } from './fresh-portal.ts';

/** A user of the identity provider, with a new portal and an empty home for each test. */
export interface PortalUser {
  readonly site: Site;
  readonly account: Account;
  /** From one session, for all tests of the file. */
  tokens: PortalTokens;
  portal: FreshPortal;
}

/** Registers the setup of a test file. The returned object is filled before the first test. */
export function portalUser(name: string): PortalUser {
  const given = {} as { -readonly [Key in keyof PortalUser]: PortalUser[Key] };
  beforeAll(async () => {
    given.site = await openSite();
    given.account = await ensureAccount(name);
    await given.site.keycloak.addUser(name);
    given.tokens = await (await freshPortal(given.site)).login(name);
  });
  beforeEach(async () => {
    await emptyHome(given.account);
    const cluster = { auth: { type: 'oidc' } };
    given.portal = await freshPortal(given.site, { deadline: '10s', cluster });
  });
  afterAll(async () => {
    await removePortals(given.site);
    await emptyHome(given.account);
  });
  return given;
}
