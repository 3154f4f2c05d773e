import { chown, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { waitFor } from '../../../rig/wait-for.ts';
import { ensureAccount, type Account } from '../../../rig/site/accounts.ts';
import type { PortalTokens } from '../../../rig/site/portal.ts';
import { openSite, type Site } from '../../../rig/site/site.ts';
import { type FreshPortal, freshPortal, patience, removePortals, timed } from './fresh-portal.ts';
import { emptyHome } from './homes.ts';
import { Mounts } from './mounts.ts';
import { processesWith, silenceHome, silentHomes } from './silent-home.ts';

const user = 'faults-silent';
const mounts = new Mounts();
let site: Site;
let account: Account;
let tokens: PortalTokens;
let portal: FreshPortal;

beforeAll(async () => {
  site = await openSite();
  account = await ensureAccount(user);
  await site.keycloak.addUser(user);
  tokens = await (await freshPortal(site)).login(user);
});
beforeEach(async () => {
  await emptyHome(account);
  const directory = join(account.home, '.kube');
  await mkdir(directory, { mode: 0o700 });
  await chown(directory, account.uid, account.gid);
  portal = await freshPortal(site, { deadline: '3s', cluster: { auth: { type: 'oidc' } } });
});
afterEach(() => mounts.remove());
afterAll(async () => {
  await removePortals(site);
  await emptyHome(account);
});

describe('a home whose user lets root wait for ever, beyond SIGKILL', () => {
  it.each(silentHomes)(
    '%s: each login ends in time, one process stays, and none once root has aborted the FUSE connection',
    async (how) => {
      const left = (): Promise<number> => processesWith('hooks/pre-pun', portal.files.berth);
      const end = await silenceHome(account, how, mounts);
      const login = (): ReturnType<typeof timed> => timed(portal.prePun(user, tokens));

      const logins = [...(await Promise.all([login(), login()])), await login()];
      logins.push(await timed(portal.prePun(user, {}, '--dry-run')));

      for (const { exitCode, took, stderr } of logins) {
        expect(exitCode, stderr).toBe(75);
        expect(took).toBeLessThan(3_000 + patience);
      }
      expect(logins.map(({ stderr }) => stderr).join('')).toContain('msg="namespace created"');
      expect(logins.at(-2)?.errors.map(({ code }) => code)).toEqual(['home-busy']);
      expect(await left()).toBe(1);

      await end();
      await waitFor({ what: 'no process to be left', timeoutMs: 5_000, everyMs: 50 }, async () =>
        (await left()) === 0 ? true : undefined,
      );
      const next = await timed(portal.prePun(user, tokens));
      expect([next.exitCode, next.errors]).toEqual([0, []]);
    },
  );

  it('berth doctor and berth plan end too, and with them one process of all stays', async () => {
    const left = (): Promise<number> => processesWith(portal.files.berth, user);
    const end = await silenceHome(account, 'a directory on hold', mounts);

    const doctor = await timed(portal.berth('doctor', '--user', user));
    expect(doctor.stdout).toMatch(/user-home.*no answer within/);
    const again = await timed(portal.berth('doctor', '--user', user));
    expect(again.stdout).toMatch(/user-home.*gave up waiting for the home of .*: process \d+/);
    const plan = await timed(portal.berth('plan', '--user', user));
    expect([plan.exitCode, plan.stdout]).toEqual([
      75,
      expect.stringContaining('gave up waiting for the home of'),
    ]);
    expect(Math.max(doctor.took, again.took, plan.took)).toBeLessThan(30_000);
    expect(await left()).toBe(1);
    await end();
  });
});
