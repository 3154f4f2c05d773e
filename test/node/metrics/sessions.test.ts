import { afterAll, beforeAll, expect, it } from 'vitest';
import { logLines } from '../../rig/log-lines.ts';
import { LiveSession } from '../../rig/login-node/live-session.ts';
import { refusedLogin, runAsRoot } from '../../rig/login-node/refused-login.ts';
import { SshHost, standardProfile } from '../../rig/login-node/ssh-host.ts';
import { seededRandom } from '../../rig/seeded-random.ts';
import { installDirectory } from '../../rig/site/portal.ts';
import { repetitions } from '../../rig/soak.ts';

const berth = `${installDirectory}/berth`;
let host: SshHost;
beforeAll(async () => {
  host = await SshHost.start({
    ...{ mode: 'forced', users: { ada: [], bob: [] } },
    profiles: {
      base: { ...standardProfile, lifetime: 'user', grace: '10m' },
      broken: { ...standardProfile, image: 'localhost/no-such-image:1' },
    },
    sshYml: { rules: [{ users: ['bob'], profile: 'broken' }, { profile: 'base' }] },
  });
});
afterAll(() => host.stop());

/** The samples that `berth metrics` prints, by their names with labels. */
async function metrics(): Promise<Record<string, number>> {
  const text = await runAsRoot(host, `${berth} metrics`);
  return Object.fromEntries(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]),
  );
}

/** How many connections have been closed. */
async function closedSessions(): Promise<number> {
  const seen = await metrics();
  const by = (who: string): number => seen[`berth_ssh_connections_closed_total{by="${who}"}`] ?? 0;
  return by('pam') + by('reaper');
}

it('counts nothing before its first run, then sessions with their profile, time, bytes and errors', async () => {
  await host.ssh('ada', ['true']);
  await expect.poll(() => host.log()).toContain('msg="session closed" user=ada');
  expect(await metrics()).toMatchObject({
    berth_ssh_connections_opened_total: 0,
    berth_images_missing: 1,
    berth_metrics_spool_full: 0,
  });
  const { stdout } = await host.ssh('ada', ['head -c 3000000 /dev/zero']);
  expect(stdout).toHaveLength(3_000_000);
  await host.ssh('ada', ['cat >/dev/null'], { input: Buffer.alloc(1_000_000) });
  await refusedLogin(host, 'bob');
  await expect
    .poll(async () => (await metrics())['berth_ssh_connections_closed_total{by="pam"}'], {
      timeout: 60_000,
    })
    .toBe(3);
  const seen = await metrics();
  const base = '{profile="base",backend="podman"}';
  expect(seen).toMatchObject({
    berth_ssh_connections_opened_total: 3,
    berth_ssh_connection_duration_seconds_count: 3,
    [`berth_ssh_session_starts_total${base}`]: 2,
    [`berth_ssh_session_start_duration_seconds_count${base}`]: 2,
    'berth_ssh_session_failures_total{code="image-missing"}': 1,
  });
  expect(seen.berth_ssh_sent_bytes_total).toBeGreaterThan(3_000_000);
  expect(seen.berth_ssh_sent_bytes_total).toBeLessThan(3_200_000);
  expect(seen.berth_ssh_received_bytes_total).toBeGreaterThan(1_000_000);
  expect(seen.berth_ssh_received_bytes_total).toBeLessThan(1_200_000);
});

it('says the same at the end of each session', async () => {
  const closed = (await host.log()).match(/level=info msg="session closed".*/g) ?? [];
  const [, download, upload, refused] = logLines(closed.join('\n'));
  expect(download).toMatchObject({ sessions: '1', profile: 'base', backend: 'podman' });
  expect(Number(download?.sent_bytes)).toBeGreaterThan(3_000_000);
  expect(Number(upload?.received_bytes)).toBeGreaterThan(1_000_000);
  expect(refused).not.toHaveProperty('sessions');
});

it('counts each session once that is killed at any moment', async () => {
  const before = (await metrics()).berth_ssh_connections_opened_total ?? 0;
  const random = seededRandom(2026);
  const times = repetitions(24, 200);
  for (let turn = 0; turn < times; turn += 1) {
    const session = await LiveSession.startReady(host, 'ada', 'cat');
    const monitor = 'pgrep -o -f "^sshd: ada"';
    // Each second one is killed, and none of its PAM hooks closes it.
    if (turn % 2 === 0) await runAsRoot(host, `kill -9 $(${monitor})`);
    await session.kill();
    if (random() < 0.3) await metrics();
  }
  const closed = async (): Promise<number> => {
    await runAsRoot(host, `${berth} reap`);
    return closedSessions();
  };
  await expect.poll(closed).toBe(before + times);
  expect((await metrics()).berth_ssh_connections_opened_total).toBe(before + times);
}, 600_000);

it('lets a user change only the numbers of their own sessions, and only with what root knows', async () => {
  const { uid } = host.account('ada');
  const place = `/run/user/${uid}/berth`;
  expect(
    (await host.asUser('ada', ['sh', '-c', 'cat /run/berth/metrics/events'])).exitCode,
  ).not.toBe(0);
  expect(
    (await host.asUser('ada', ['sh', '-c', 'echo >>/run/berth/metrics/events'])).exitCode,
  ).not.toBe(0);
  const before = await metrics();
  // Two connections that are open at once would have two notes.
  const closeWith = async (session: LiveSession): Promise<void> => {
    const closed = await closedSessions();
    await session.kill();
    await expect.poll(closedSessions).toBe(closed + 1);
  };
  const forged = [
    '{"profile":"base\\"} 1\\nforged 1","backend":"podman","start_ms":1}',
    '{"profile":"base","backend":"gpu","start_ms":1}',
    '{"profile":"base","backend":"podman","start_ms":-5}',
    '{"profile":"base","backend":"podman","start_ms":1e300}',
    '{"code":"toString"}',
    '{"exit":"0"}',
    'x'.repeat(300_000),
  ];
  for (const note of forged) {
    const session = await LiveSession.startReady(host, 'ada', 'cat');
    const file = `$(ls -d ${place}/sessions.*)`;
    const { stderr } = await host.asUser('ada', ['sh', '-c', `cat >${file}`], {
      input: Buffer.from(`${note}\n`),
    });
    expect(stderr).toBe('');
    await closeWith(session);
  }
  // Nor what is no file of theirs: a device, a pipe, another file.
  for (const make of [
    'mkfifo "$f"',
    'ln -s /etc/shadow "$f"',
    'ln -s /dev/zero "$f"',
    'mkdir "$f"',
  ]) {
    const session = await LiveSession.startReady(host, 'ada', 'cat');
    const script = `f=$(ls -d ${place}/sessions.*) && rm "$f" && ${make}`;
    expect((await host.asUser('ada', ['sh', '-c', script])).stderr).toBe('');
    await closeWith(session);
    await host.asUser('ada', ['sh', '-c', `rm -rf ${place}/sessions.*`]);
  }
  const after = await metrics();
  const base = 'berth_ssh_session_starts_total{profile="base",backend="podman"}';
  expect(after[base]).toBe(before[base]);
  expect(Object.keys(after).sort()).toEqual(Object.keys(before).sort());
});

it('writes lines of JSON with log_format: json, with all that is hostile escaped', async () => {
  const script = `sed -i '1i log_format: json' /etc/berth/ssh.yml && cat /etc/berth/ssh.yml`;
  expect(await runAsRoot(host, script)).toMatch(/^log_format: json\n/);
  const before = (await host.log()).length;
  await host.ssh('ada', ['true']);
  const lines = async () =>
    (await host.log()).slice(before).match(/(?<= berth(?:\[\d+\])?: )\{.*\}$/gm);
  await expect.poll(lines).toHaveLength(2);
  const [opened, closed] = ((await lines()) ?? []).map((line) => JSON.parse(line) as object);
  expect(opened).toMatchObject({ level: 'info', msg: 'session opened', user: 'ada' });
  expect(closed).toMatchObject({ msg: 'session closed', profile: 'base', sessions: 1 });
});
