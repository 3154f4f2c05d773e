import { execa } from 'execa';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { seededRandom } from '../../rig/seeded-random.ts';
import { publicDirectory } from '../../rig/site/directories.ts';
import { LiveCluster } from '../../rig/site/live-cluster.ts';
import { installDirectory, Portal } from '../../rig/site/portal.ts';
import { openSite, type Site } from '../../rig/site/site.ts';
import { type TestUser, TestUsers } from '../../rig/site/test-users.ts';
import { repetitions } from '../../rig/soak.ts';

let site: Site;
let portal: Portal;
let users: TestUsers;
let user: TestUser;
let run: string;

beforeAll(async () => {
  site = await openSite();
  users = new TestUsers(new LiveCluster(site));
  user = await users.create('me-eve');
  await site.keycloak.addUser(user.name);
  portal = await Portal.make(site);
  run = await mkdtemp(join(publicDirectory, 'run-'));
  await mkdir('/run/berth', { recursive: true });
  // A directory of its own as /run/berth, for the hook and for `berth metrics`.
  const script = 'mount --bind "$0" /run/berth; exec "$@"';
  portal.wrapArgv = (argv) => ['unshare', '--mount', 'sh', '-euc', script, run, ...argv];
});
afterAll(async () => {
  await users.removeNamespaces();
  await portal.remove();
  await rm(run, { recursive: true });
});

async function metrics(): Promise<Record<string, number>> {
  const { exitCode, stdout, stderr } = await portal.berth('metrics');
  expect(exitCode, stderr).toBe(0);
  const lines = stdout.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]),
  );
}

const endedLogins = (seen: Readonly<Record<string, number>>): number =>
  ['success', 'failure']
    .map((result) => seen[`berth_portal_logins_total{result="${result}"}`] ?? 0)
    .reduce((sum, one) => sum + one, 0);

it('counts nothing before its first run, and looks at the token of the hook', async () => {
  await portal.prePun(user.name, await portal.login(user.name));
  const seen = await metrics();
  expect(seen).toMatchObject({
    berth_portal_logins_started_total: 0,
    'berth_cluster_backoff{cluster="prod"}': 0,
    berth_metrics_spool_full: 0,
  });
  const expiry = seen['berth_hook_token_expiry_timestamp_seconds{cluster="prod"}'];
  expect(expiry).toBeGreaterThan(Date.now() / 1000);
});

it('counts each login once, also those that are killed at any moment', async () => {
  const random = seededRandom(26);
  const tokens = await portal.login(user.name);
  const times = repetitions(60, 200);
  let killed = 0;
  for (let turn = 0; turn < times; turn += 1) {
    if (turn % 4 !== 0) {
      const { exitCode, stderr } = await portal.prePun(user.name, tokens);
      expect(exitCode, stderr).toBe(0);
      continue;
    }
    const argv = [join(installDirectory, 'hooks/pre-pun'), '--user', user.name];
    const [file = '', ...rest] = portal.wrapArgv([...argv, '--config', portal.files.berth]);
    const login = execa(file, rest, { reject: false, stdin: 'ignore' });
    const timer = setTimeout(() => login.kill('SIGKILL'), random() * 250);
    if ((await login).signal === 'SIGKILL') killed += 1;
    clearTimeout(timer);
    if (random() < 0.2) await metrics();
  }
  expect(killed).toBeGreaterThan(0);
  const seen = await metrics();
  const { berth_portal_logins_started_total: started = 0 } = seen;
  // Those that were to be killed have no tokens, so they fail if they end.
  const ended = endedLogins(seen);
  expect(started).toBeLessThanOrEqual(times);
  expect(started).toBeGreaterThanOrEqual(ended);
  expect(ended).toBeGreaterThanOrEqual(times - killed);
  expect(seen).toMatchObject({
    berth_portal_login_duration_seconds_count: ended,
    'berth_portal_login_phase_duration_seconds_count{phase="credentials"}': ended,
  });
}, 300_000);

it('counts failures by their codes', async () => {
  const before = await metrics();
  await writeFile(
    join(portal.files.clustersDir, 'broken.yml'),
    'v2: {job: {adapter: kubernetes, auth: {type: oidcc}}}\n',
  );
  const { idToken } = await portal.login(user.name);
  expect((await portal.prePun(user.name, { idToken })).exitCode).toBe(78);
  await rm(join(portal.files.clustersDir, 'broken.yml'));
  const after = await metrics();
  expect(endedLogins(after)).toBe(endedLogins(before) + 1);
  expect(after).toMatchObject({
    'berth_portal_login_failures_total{code="cluster-value-invalid"}': 1,
    'berth_errors_total{program="pre-pun",code="cluster-value-invalid"}': 1,
  });
});
