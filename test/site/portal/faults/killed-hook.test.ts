import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, chown, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { credentialCachePath } from '../../../../src/credentials/credential-cache.ts';
import { ensureAccount, type Account } from '../../../rig/site/accounts.ts';
import { installDirectory, type PortalTokens } from '../../../rig/site/portal.ts';
import { seededRandom } from '../../../rig/seeded-random.ts';
import { openSite, type Site } from '../../../rig/site/site.ts';
import { repetitions } from '../../../rig/soak.ts';
import { emptyHome, leftovers } from './homes.ts';
import {
  type FreshPortal,
  freshPortal,
  isAsWanted,
  removePortals,
  timed,
  type TimedResult,
} from './fresh-portal.ts';

const user = 'faults-kill';
/** How many moments of first and of later hooks. */
const moments = repetitions(6, 26);
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

/** A home with a kubeconfig that has an entry of the user's. */
async function homeWithForeignEntries(): Promise<void> {
  await emptyHome(account);
  const directory = join(account.home, '.kube');
  await mkdir(directory, { mode: 0o700 });
  const file = join(directory, 'config');
  await writeFile(
    file,
    `# mine\napiVersion: v1\nkind: Config\nusers:\n- name: ${foreign.name}\n  user: {token: ${foreign.user.token}}\n`,
    { mode: 0o600 },
  );
  for (const path of [directory, file]) await chown(path, account.uid, account.gid);
}

/** Starts the hook as nginx_stage does and kills it after this many milliseconds, if it still runs. */
async function killedAfter(
  milliseconds: number,
  portal: FreshPortal,
  tokens: PortalTokens,
): Promise<boolean> {
  const hook = spawn(
    join(installDirectory, 'hooks/pre-pun'),
    ['--user', user, '--config', portal.files.berth],
    { cwd: '/', env: portal.environment(tokens), stdio: 'ignore', detached: true },
  );
  const ended = once(hook, 'exit');
  await Promise.race([sleep(milliseconds), ended]);
  // A shell and Node.
  if (hook.pid !== undefined && hook.exitCode === null) process.kill(-hook.pid, 'SIGKILL');
  const [, signal] = (await ended) as [number | null, NodeJS.Signals | null];
  return signal === 'SIGKILL';
}

/** Checks that one hook completes the work of a killed one. */
async function expectRepaired(
  portal: FreshPortal,
  tokens: PortalTokens,
  when: string,
): Promise<void> {
  const next = await timed(portal.prePun(user, tokens));
  expect(next.stderr, when).not.toMatch(/level=error/);
  expect(next.exitCode, when).toBe(0);
  // The lock of a killed process is recognized at once, not only when it is old.
  expect(next.took, when).toBeLessThan(5_000);
  expect(await isAsWanted(portal, user), when).toBe(true);
  expect(await leftovers(account, portal), when).toEqual([]);

  const text = await readFile(join(account.home, '.kube/config'), 'utf8');
  const { users } = parse(text) as { users: readonly { name: string }[] };
  expect(text, when).toMatch(/^# mine\n/);
  expect(users, when).toContainEqual(foreign);
  expect(users.map(({ name }) => name).sort(), when).toEqual([foreign.name, user].sort());
}

/** The refresh token that kubectl's plugin would use next; the killed hook must not have used it. */
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

describe('after kill -9 at any moment the next hook completes the work', () => {
  it(`${moments} moments of first hooks`, { timeout: 600_000 }, async () => {
    const tokens = await (await freshPortal(site, oidc)).login(user);
    let portal: FreshPortal;
    const begin = async (): Promise<void> => {
      await homeWithForeignEntries();
      portal = await freshPortal(site, oidc);
    };
    await killedAtMoments(seededRandom(20261121), {
      prepare: begin,
      kill: (delay) => killedAfter(delay, portal, tokens),
      whole: () => timed(portal.prePun(user, tokens)),
      repaired: (when) => expectRepaired(portal, tokens, `first login, killed after ${when}`),
    });
    await expectRefreshTokenIsGood();
  });

  it(`${moments} moments of later hooks that find drift`, { timeout: 600_000 }, async () => {
    await homeWithForeignEntries();
    const portal = await freshPortal(site, oidc);
    const namespace = portal.namespaceOf(user);
    let tokens = await portal.login(user);
    await portal.prePun(user, tokens);
    const drift = async (): Promise<void> => {
      await site.kubectl(['-n', namespace, 'delete', 'networkpolicies,rolebindings', '--all']);
      // A kubeconfig with a damaged entry, and a new session of the portal.
      const file = join(account.home, '.kube/config');
      await writeFile(file, (await readFile(file, 'utf8')).replaceAll('kube-credential', 'gone'));
      await appendFile(file, '# touched\n');
      tokens = await portal.login(user);
    };
    await killedAtMoments(seededRandom(3), {
      prepare: drift,
      kill: (delay) => killedAfter(delay, portal, tokens),
      whole: () => timed(portal.prePun(user, tokens)),
      repaired: (when) => expectRepaired(portal, tokens, `later login, killed after ${when}`),
    });
    await expectRefreshTokenIsGood();
  });
});

const oidc = { deadline: '10s', cluster: { auth: { type: 'oidc' } } };

interface Login {
  /** Before each hook. */
  readonly prepare: () => Promise<void>;
  /** Starts a hook and kills it after this many milliseconds. @returns false if it had ended before */
  readonly kill: (delay: number) => Promise<boolean>;
  /** Runs a hook to its end. */
  readonly whole: () => Promise<TimedResult>;
  readonly repaired: (when: string) => Promise<void>;
}

/**
 * Kills hooks at moments spread over the duration of one. A hook that ended before its moment does not
 * count, because the duration is only estimated.
 */
async function killedAtMoments(next: () => number, login: Login): Promise<void> {
  await login.prepare();
  const { took, exitCode, stderr } = await login.whole();
  expect([exitCode, stderr]).toEqual([0, expect.not.stringContaining('level=error')]);
  let killed = 0;
  for (let begun = 0; killed < moments; begun += 1) {
    expect(begun, `${killed} of so many logins were killed`).toBeLessThan(moments * 10);
    const delay = next() * took;
    await login.prepare();
    if (await login.kill(delay)) killed += 1;
    await login.repaired(`${delay} ms`);
  }
}
