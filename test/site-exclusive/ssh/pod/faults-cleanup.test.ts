import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { LiveSession } from '../../../rig/login-node/live-session.ts';
import { startPodHost, type PodHost } from '../../../rig/login-node/pod-host.ts';
import { openSite, type Site } from '../../../rig/site/site.ts';

vi.setConfig({ hookTimeout: 600_000 });

const [killing, stopping, many] = ['pc-killing', 'pc-stopping', 'pc-many'];

describe('what a user does in a pod', () => {
  let site: Site;
  let pods: PodHost;
  beforeAll(async () => {
    site = await openSite();
    pods = await startPodHost(site, {
      mode: 'forced',
      users: { [killing]: [], [stopping]: [], [many]: [] },
      sshYml: { rules: [{ profile: 'shared', users: [stopping] }, { profile: 'base' }] },
      profiles: { shared: { lifetime: 'user', grace: '1h' } },
    });
  });
  afterAll(() => pods.stop());

  const live = (user: string, command: string) => LiveSession.startReady(pods.host, user, command);
  const logged = (user: string, code: string): Promise<void> =>
    expect
      .poll(() => pods.host.log(), { timeout: 90_000 })
      .toMatch(new RegExp(` berth: .* user=${user} .*code=${code}\\b`));

  it('to the shell around their command leaves its exit status unknown', async () => {
    const { exitCode, stderr } = await pods.host.ssh(killing, ['kill -KILL $PPID; sleep 10']);
    expect(stderr).toMatch(
      /login: your session in the pod ended before the exit status of its command arrived; it is unknown \[exec-ended-externally,/,
    );
    expect(exitCode).toBe(255);
  });

  it('to the shell of the cleanup keeps a close no longer than its time', async () => {
    const other = await live(
      stopping,
      'while :; do pkill -STOP -f "[b]erth-sweep$"; done & exec cat',
    );
    const session = await live(stopping, 'trap "" HUP TERM; sleep 300 & cat');
    await session.kill();
    await logged(stopping, 'exec-aborted');
    await other.kill();
  });

  it('to have more pods than a cleanup looks at leaves the others to the next', async () => {
    const session = await live(many, 'cat');
    const namespace = ['-n', `u-${many}`];
    const { stdout } = await site.kubectl([...namespace, 'get', 'pods', '-o', 'json']);
    const [pod] = (JSON.parse(stdout) as { items: { metadata: object; spec: object }[] }).items;
    const { labels } = pod?.metadata as { labels: object };
    const copies = Array.from({ length: 205 }, (_, index) => ({
      ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: `copy-${index}`, labels } },
      // Nowhere: they stay Pending.
      spec: { containers: [{ name: 'main', image: 'none' }], nodeSelector: { 'no.such': 'node' } },
    }));
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: copies });
    const made = await site.kubectl([...namespace, 'create', '-f', '-'], { input: list });
    expect(made.exitCode, made.stderr).toBe(0);
    await session.kill();
    await logged(many, 'reap-too-many-pods');
  });
});
