import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, chown, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { credentialCachePath } from '../../src/credentials/credential-cache.ts';
import { ensureAccount, type Account } from '../site/accounts.ts';
import { installed, type PortalTokens } from '../site/portal.ts';
import { openSite, type Site } from '../site/site.ts';
import { emptyHome, leftovers } from './homes.ts';
import { type FreshPortal, freshPortal, isAsWanted, removePortals, timed } from './hooks.ts';

const user = 'faults-kill';
/** How many moments of each kind of login. */
const moments = { first: 26, later: 26 };
const foreign = { name: 'elsewhere', user: { token: 'of-another-site' } };

let site: Site;
let account: Account;

beforeAll(async () => {
  site = await openSite();
  account = await ensureAccount(user);
  await site.keycloak.addUser(user);
});
afterAll(async () => {
  await removePortals(site);
  await emptyHome(account);
});

/** Mulberry32: the same moments in every run, so that a red one can be met again. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A home with a kubeconfig that says something of the user's own. */
async function homeWithForeignEntries(): Promise<void> {
  await emptyHome(account);
  const folder = join(account.home, '.kube');
  await mkdir(folder, { mode: 0o700 });
  const file = join(folder, 'config');
  await writeFile(
    file,
    `# mine\napiVersion: v1\nkind: Config\nusers:\n- name: ${foreign.name}\n  user: {token: ${foreign.user.token}}\n`,
    { mode: 0o600 },
  );
  for (const path of [folder, file]) await chown(path, account.uid, account.gid);
}

/** Starts the hook as nginx_stage does and kills it so many milliseconds later, if it still runs. */
async function killedAfter(
  milliseconds: number,
  portal: FreshPortal,
  tokens: PortalTokens,
): Promise<boolean> {
  const hook = spawn(
    join(installed, 'hooks/pre-pun'),
    ['--user', user, '--config', portal.files.berth],
    { cwd: '/', env: portal.environment(tokens), stdio: 'ignore' },
  );
  const ended = once(hook, 'exit');
  await Promise.race([sleep(milliseconds), ended]);
  hook.kill('SIGKILL');
  const [, signal] = (await ended) as [number | null, NodeJS.Signals | null];
  return signal === 'SIGKILL';
}

/** Whatever was killed before, one login makes all as it should be. */
async function expectRepaired(
  portal: FreshPortal,
  tokens: PortalTokens,
  when: string,
): Promise<void> {
  const next = await timed(portal.prePun(user, tokens));
  expect(next.stderr, when).not.toMatch(/level=error/);
  expect(next.exitCode, when).toBe(0);
  // A lock of a process that was killed is known as such at once, not when it is old enough.
  expect(next.took, when).toBeLessThan(5_000);
  expect(await isAsWanted(portal, user), when).toBe(true);
  expect(await leftovers(account, portal), when).toEqual([]);

  const text = await readFile(join(account.home, '.kube/config'), 'utf8');
  const { users } = parse(text) as { users: readonly { name: string }[] };
  expect(text, when).toMatch(/^# mine\n/);
  expect(users, when).toContainEqual(foreign);
  expect(users.map(({ name }) => name).sort(), when).toEqual([foreign.name, user].sort());
}

/** What kubectl's plugin would use next; it must not have been used up by whoever was killed. */
async function expectRefreshTokenIsGood(): Promise<void> {
  const { exitCode, stdout } = await site.kubectl(['get', 'pods', '-v=0'], {
    account: user,
    kubeconfig: join(account.home, '.kube/config'),
  });
  expect([exitCode, stdout]).toEqual([0, '']);
  const file = join(account.home, credentialCachePath(site.server));
  const { refresh } = JSON.parse(await readFile(file, 'utf8')) as {
    refresh: { refreshToken: string };
  };
  await expect(
    site.keycloak.refresh(refresh.refreshToken, 'kubernetes-public'),
  ).resolves.toBeDefined();
}

describe('kill -9 at any moment of a login leaves what the next login repairs', () => {
  it(`${moments.first} moments of first logins`, { timeout: 120_000 }, async () => {
    const next = random(20261121);
    const tokens = await (await freshPortal(site, oidc)).login(user);
    const whole = await measured(() => Promise.resolve());
    let killed = 0;
    for (let moment = 0; moment < moments.first; moment += 1) {
      const delay = next() * whole;
      await homeWithForeignEntries();
      const portal = await freshPortal(site, oidc);
      if (await killedAfter(delay, portal, tokens)) killed += 1;
      await expectRepaired(portal, tokens, `first login, killed after ${delay} ms`);
    }
    expect(killed).toBeGreaterThan(moments.first * 0.6);
    await expectRefreshTokenIsGood();
  });

  it(`${moments.later} moments of later logins that find drift`, { timeout: 120_000 }, async () => {
    const next = random(3);
    let killed = 0;
    await homeWithForeignEntries();
    const portal = await freshPortal(site, oidc);
    const namespace = portal.namespaceOf(user);
    let tokens = await portal.login(user);
    await portal.prePun(user, tokens);
    const drift = async (): Promise<void> => {
      await site.kubectl(['-n', namespace, 'delete', 'networkpolicies,rolebindings', '--all']);
      // A kubeconfig in which our entry was spoilt, and a new session of the portal.
      const file = join(account.home, '.kube/config');
      await writeFile(file, (await readFile(file, 'utf8')).replaceAll('kube-credential', 'gone'));
      await appendFile(file, '# touched\n');
      tokens = await portal.login(user);
    };
    const whole = await measured(drift, portal, () => tokens);
    for (let moment = 0; moment < moments.later; moment += 1) {
      const delay = next() * whole;
      await drift();
      if (await killedAfter(delay, portal, tokens)) killed += 1;
      await expectRepaired(portal, tokens, `later login, killed after ${delay} ms`);
    }
    expect(killed).toBeGreaterThan(moments.later * 0.6);
    await expectRefreshTokenIsGood();
  });
});

const oidc = { deadline: '10s', cluster: { auth: { type: 'oidc' } } };

/** Milliseconds of a login that nobody kills: over this time the moments are spread. */
async function measured(
  prepare: () => Promise<void>,
  given?: FreshPortal,
  tokensNow?: () => PortalTokens,
): Promise<number> {
  if (given === undefined) await homeWithForeignEntries();
  const portal = given ?? (await freshPortal(site, oidc));
  await prepare();
  const tokens = tokensNow?.() ?? (await portal.login(user));
  const { took, exitCode, stderr } = await timed(portal.prePun(user, tokens));
  expect([exitCode, stderr]).toEqual([0, expect.not.stringContaining('level=error')]);
  return took;
}
